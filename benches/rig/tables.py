"""Tables as Markdown: the first column is text, the others are numbers."""


def table(head, lines):
    rule = "|---|" + "--:|" * (len(head) - 1)
    return "\n".join([row(head), rule, *map(row, lines)])


def row(cells):
    return "| " + " | ".join(cells) + " |"


def number(value, digits):
    return "-" if value is None else f"{value:,.{digits}f}"
