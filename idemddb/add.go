package idemddb

import (
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/dbitem"
	"github.com/idemddb/go-idemddb/internal/protocol"
)

// Add adds numbers to attributes of one item, which is made if it is missing. The additions of several messages to one item are
// one update of their transaction, so that many workers can add to few items: each message counts exactly once, and an item costs
// its write units once for all messages of a transaction. Additions of other Requires or Unless, and other writes of the item,
// have a transaction of their own.
type Add struct {
	// Table is the table of the item, by its name or its ARN. Required.
	Table string

	// Key is the primary key of the item. Required. The record of the key itself is ErrBadEffects.
	Key map[string]types.AttributeValue

	// Values are the numbers by the attributes to which they are added: each a number of at most 38 digits, also below zero. An
	// attribute that is missing is 0 before. An attribute of the key is ErrBadEffects. Required.
	Values map[string]types.AttributeValue

	// Requires are attributes that the item must have, and Unless are attributes that it must not have, such as closed. If the item
	// has one of Unless or lacks one of Requires, the answer is *EffectError. It is ErrBadEffects to name an attribute in both of
	// them, one of Values, or an attribute of the key in Unless. No other condition is possible: two withdrawals of 100 from a
	// balance of 100 would both pass balance >= 100 if they were one update, although in either order the second must fail. For such
	// a condition, stage an item in Effects.Items.
	//
	// Both default to none: the numbers are always added.
	Requires, Unless []string
}

// check returns an error for what DynamoDB could only refuse, or what makes additions depend on their order.
func (a *Add) check() error {
	if err := dbitem.CheckWrite(a.write()); err != nil {
		return err
	}

	if len(a.Values) == 0 {
		return errors.New("its Values are empty")
	}

	for name, v := range a.Values {
		if err := checkNumber(v); name == "" || err != nil {
			return fmt.Errorf("its Values: attribute %q: %w", name, errors.Join(err, checkName(name)))
		}

		if a.Key[name] != nil {
			return fmt.Errorf("its Values: attribute %q belongs to its key", name)
		}

		if slices.Contains(a.Requires, name) || slices.Contains(a.Unless, name) {
			return fmt.Errorf("attribute %q is one of its Values and in its Requires or Unless", name)
		}
	}

	return a.checkCondition()
}

func (a *Add) checkCondition() error {
	for _, name := range slices.Concat(a.Requires, a.Unless) {
		if err := checkName(name); err != nil {
			return fmt.Errorf("its Requires or Unless: %w", err)
		}
	}

	for _, name := range a.Unless {
		if a.Key[name] != nil {
			return fmt.Errorf("its Unless: attribute %q belongs to its key, so only the first addition could pass", name)
		}

		if slices.Contains(a.Requires, name) {
			return fmt.Errorf("attribute %q is in its Requires and in its Unless", name)
		}
	}

	return nil
}

func checkName(name string) error {
	if name == "" {
		return errors.New("the name of an attribute is empty")
	}

	return nil
}

func checkNumber(v types.AttributeValue) error {
	n, _ := v.(*types.AttributeValueMemberN)
	if n == nil {
		return errors.New("it must be a number")
	}

	_, err := dbitem.ParseNumber(n.Value)

	return err
}

// write returns the item of the addition as a transaction has it. Of its expressions it has only the verb.
func (a *Add) write() types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &a.Table, Key: a.Key, UpdateExpression: new("ADD"), ExpressionAttributeValues: a.Values,
	}}
}

func copyAdds(adds []Add) []Add {
	return dbitem.CloneEach(adds, func(a Add) Add {
		return Add{a.Table, dbitem.Clone(a.Key), dbitem.Clone(a.Values), slices.Clone(a.Requires), slices.Clone(a.Unless)}
	})
}

// writes returns Items, and then the items of Adds.
func (e *Effects) writes() []types.TransactWriteItem {
	if len(e.Adds) == 0 {
		return e.Items
	}

	all := slices.Clone(e.Items)
	for i := range e.Adds {
		all = append(all, e.Adds[i].write())
	}

	return all
}

// additions returns Adds with those to one item under the same condition summed. Adds must have been checked; identities has the
// item of each.
func (e *Effects) additions(identities []string) []protocol.Addition {
	var all []protocol.Addition

	for i, a := range e.Adds {
		requires, unless := sortedNames(a.Requires), sortedNames(a.Unless)
		one := protocol.Addition{
			Table: a.Table, Key: a.Key, Values: make(map[string]*dbitem.Number, len(a.Values)), Requires: requires, Unless: unless,
			Item: identities[i], As: protocol.AsOf(requires, unless), Index: len(e.Items) + i,
		}

		for name, v := range a.Values {
			n, _ := v.(*types.AttributeValueMemberN)
			one.Values[name], _ = dbitem.ParseNumber(n.Value)
		}

		all = protocol.Sum(all, one)
	}

	return all
}

// sortedNames returns the names in order, each once.
func sortedNames(names []string) []string {
	sorted := slices.Clone(names)
	slices.Sort(sorted)

	return slices.Compact(sorted)
}
