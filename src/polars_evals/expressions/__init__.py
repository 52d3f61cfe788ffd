"""How metrics and cleaning steps become Polars expressions."""
