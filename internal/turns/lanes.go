package turns

import "slices"

// Lanes deals messages into lanes: two messages are in one lane if they share a name, or if a message between them shares one name with
// each. Within a lane they are in the order in which they came, and the lanes are in the order of their first messages.
func Lanes[M any](messages []M, names func(M) []string) [][]M {
	var (
		lanes = make([][]M, len(messages))          // each one at the place of its first message
		heads = make([]int, len(messages))          // an earlier message of the lane of each, or itself for the first one
		first = make(map[string]int, len(messages)) // the first message with each name
	)

	for i, m := range messages {
		heads[i] = i

		for _, name := range names(m) {
			if earlier, ok := first[name]; ok {
				a, b := headOf(heads, i), headOf(heads, earlier)
				heads[max(a, b)] = min(a, b)
			} else {
				first[name] = i
			}
		}
	}

	for i, m := range messages {
		head := headOf(heads, i)
		lanes[head] = append(lanes[head], m)
	}

	return slices.DeleteFunc(lanes, func(lane []M) bool { return lane == nil })
}

// headOf returns the first message of the lane of a message.
func headOf(heads []int, i int) int {
	for heads[i] != i {
		i = heads[i]
	}

	return i
}
