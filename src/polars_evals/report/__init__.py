"""Say and draw what was computed: sentences, tables, Markdown, JUnit, charts, and a page."""
