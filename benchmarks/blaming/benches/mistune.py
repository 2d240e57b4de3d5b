import mistune

text = "# Title\n\nSome *text* with `code` and [a link](http://example.org).\n\n"
text = (text + "- one\n- two **bold**\n\n> quoted\n\n```\ncode\n```\n\n") * 12
markdown = mistune.create_markdown(plugins=["table", "strikethrough"])
print(len(markdown(text)), len(mistune.html(text)))
