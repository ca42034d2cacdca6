"""One script per lifecycle verb."""
