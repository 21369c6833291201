package lambdawrap

// lanes deals the messages into lanes: two messages are in one lane if they have the same key or FIFO message group, or if a message
// between them has the key of one and the group of the other. Within a lane they are in the order of the batch, and the lanes are in the
// order of their first messages.
func lanes(messages []*message) (made []*lane) {
	heads := headsOf(messages)
	byHead := make([]*lane, len(messages))

	for i, m := range messages {
		head := headOf(heads, i)
		if byHead[head] == nil {
			byHead[head] = &lane{}
			made = append(made, byHead[head])
		}

		byHead[head].messages = append(byHead[head].messages, m)
	}

	return made
}

// headsOf returns for each message one that is in its lane and before it, or itself for the first message of a lane.
func headsOf(messages []*message) []int {
	heads := make([]int, len(messages))
	first := make(map[sharing]int, len(messages)) // :: key or group → its first message

	join := func(i int, name sharing) {
		earlier, ok := first[name]
		if !ok {
			first[name] = i

			return
		}

		a, b := headOf(heads, i), headOf(heads, earlier)
		heads[max(a, b)] = min(a, b)
	}

	for i, m := range messages {
		heads[i] = i

		if m.noKey == nil {
			join(i, sharing{key: m.key})
		}

		if m.fifo {
			join(i, sharing{group: m.group})
		}
	}

	return heads
}

// headOf returns the first message of the lane of a message.
func headOf(heads []int, i int) int {
	for heads[i] != i {
		i = heads[i]
	}

	return i
}

// sharing is a key or a FIFO message group, whose messages are in one lane.
type sharing struct{ key, group string }
