"""What a query asks, in pure Python: expressions, their parsing and binding, normal form, domains.

A bound expression knows its columns' types; an unknown column is an error here, never silence further up.
NOT is pushed to the leaves by operator before any domain exists: under SQL's three values a domain has no
complement.
"""
