package turns

// Lanes deals messages into lanes: messages with one name are in one lane, and a message without a name is alone in its own. Within a lane
// they are in the order in which they came, and the lanes are in the order of their first messages.
func Lanes[M any](messages []M, name func(M) string) [][]M {
	lanes := make([][]M, 0, len(messages))
	at := map[string]int{} // the lane of each name

	for i, m := range messages {
		n := name(m)
		lane, isKnown := at[n]

		switch {
		case n == "":
			lanes = append(lanes, messages[i:i+1:i+1])
		case isKnown:
			lanes[lane] = append(lanes[lane], m)
		default:
			at[n] = len(lanes)
			lanes = append(lanes, []M{m})
		}
	}

	return lanes
}
