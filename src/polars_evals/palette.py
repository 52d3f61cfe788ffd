"""The colours of verdicts and charts: told apart by colour-blind people, and never by colour alone."""

# Okabe and Ito's palette; the page's style sheet knows these values, and changes them for the dark.
INK, QUIET, GRID, BAND, PAPER = "#1f2328", "#5b6570", "#d8dde3", "#e9edf1", "#fffffe"
BLUE, SKY, VERMILION, GREEN, PURPLE = "#0072b2", "#8fc7e8", "#d55e00", "#009e73", "#cc79a7"

VERDICT_COLOURS = {
    "regressed": VERMILION,
    "inconclusive": QUIET,
    "improved": BLUE,
    "no_change": QUIET,
    "calibrated": BLUE,
}
