import markdown

text = "# Title\n\nSome *text* with `code` and [a link](http://example.org).\n\n"
text = (text + "* one\n* two **bold**\n\n> quoted\n\n    code\n\n") * 10
print(len(markdown.markdown(text, extensions=["markdown.extensions.tables"])))
