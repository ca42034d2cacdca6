"""What is done to an index over its life: create, maintain, compact, validate, drop.

Maintenance is the difference between the slices that are indexed and the slices that are, file group by
file group; creating is maintenance from nothing, dropping maintenance to nothing. One commit of the index
metadata table moves all indexes together.
"""
