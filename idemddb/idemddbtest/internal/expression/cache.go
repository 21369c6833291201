package expression

// Parsed is an entry of the cache: a condition or an update, with the names and values that it uses.
type Parsed struct {
	Condition *Node
	Update    *Update
	uses      uses
	err       error
}

// Cache keeps parsed expressions. Code has few of them; the cache is bounded because a fuzzer has many.
type Cache map[cacheKey]Parsed

type cacheKey struct {
	expression string
	isUpdate   bool
}

const cacheSize = 1024

// ParseCondition returns a parsed condition, which may be invalid; Bind returns the error.
func (c Cache) ParseCondition(expression string) Parsed { return c.parse(expression, false) }

// ParseUpdate does for an update what ParseCondition does for a condition.
func (c Cache) ParseUpdate(expression string) Parsed { return c.parse(expression, true) }

func (c Cache) parse(expression string, isUpdate bool) Parsed {
	key := cacheKey{expression, isUpdate}
	if p, ok := c[key]; ok {
		return p
	}

	var p Parsed
	if isUpdate {
		p.Update, p.uses, p.err = parseUpdate(expression)
	} else {
		p.Condition, p.uses, p.err = parseCondition(expression)
	}

	if len(c) >= cacheSize {
		clear(c)
	}

	c[key] = p

	return p
}
