from pyparsing import Suppress, Word, alphas, delimitedList, infixNotation, nums, oneOf, opAssoc

number = Word(nums)
expression = infixNotation(
    number | Word(alphas), [(oneOf("* /"), 2, opAssoc.LEFT), (oneOf("+ -"), 2, opAssoc.LEFT)]
)
lists = Suppress("[") + delimitedList(expression) + Suppress("]")
for _ in range(3):
    found = lists.parseString("[" + ",".join(f"a+{i}*(b-{i})" for i in range(6)) + "]")
print(len(found))
