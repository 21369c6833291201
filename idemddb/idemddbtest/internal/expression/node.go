// Package expression parses and evaluates the expressions of DynamoDB by the documented grammar: conditions, updates, and the
// statements of PartiQL that package idemddbtest executes, which become conditions and updates, too.
package expression

// Node is a node of a parsed expression. It holds no names and values of a request, so that an expression is parsed once for all
// requests.
type Node struct {
	Kind Kind
	Op   string // the comparison, the function's name, or the :value
	Path Path
	Args []*Node
}

// Kind says what a node stands for.
type Kind byte

// The kinds of nodes. Those before AndNode are values, the others but the last two are conditions.
const (
	PathNode Kind = iota
	ValueNode
	SizeNode
	AndNode
	OrNode
	NotNode
	CompareNode
	BetweenNode
	InNode
	FunctionNode    // of a condition
	SetFunctionNode // of a SET: if_not_exists, list_append
	SumNode         // + or -
)

// operand reports whether the node is a value and not a condition.
func (e *Node) operand() bool { return e.Kind <= SizeNode }

// terms returns how many conditions are joined by AND.
func (e *Node) terms() int {
	if e.Kind == AndNode {
		return e.Args[0].terms() + e.Args[1].terms()
	}

	return 1
}

// operators returns how many operators and functions the node has. DynamoDB takes 300 in a condition.
func (e *Node) operators() int {
	n := 0
	if e.Kind != PathNode && e.Kind != ValueNode {
		n = 1
	}

	for _, a := range e.Args {
		n += a.operators()
	}

	return n
}
