"""The output of a cell for objects that print well."""


def text_output(result: object) -> str:
    """What an object prints, as HTML for notebooks: a class has it as `_repr_html_`."""
    from indextables.display.markup import element  # noqa: PLC0415 - only notebooks need it
    from indextables.display.panels import notebook  # noqa: PLC0415

    return notebook(element("pre", str(result)))
