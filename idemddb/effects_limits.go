package idemddb

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Limits of DynamoDB's transactions.
const (
	maxEffects     = 99 // with the record 100
	maxTransaction = 4 << 20
	plainRecord    = 8 << 10 // bytes of a record without its result and messages, at most
)

// errEffects: effects that cannot be written as they are.
var errEffects = errors.New("effects cannot be written")

// checkEffects returns an error for what DynamoDB could only refuse.
func (s *Store) checkEffects(partition string, e Effects) error {
	if len(e.Items) > maxEffects {
		return fmt.Errorf("%w: %d items: 1 record and %d of yours; DynamoDB takes 100 in a transaction", errEffects, len(e.Items)+1, len(e.Items))
	}

	for i, it := range e.Items {
		if err := checkItem(it); err != nil {
			return fmt.Errorf("%w: item %d: %w", errEffects, i, err)
		}
	}

	if err := errors.Join(s.checkTwice(partition, e.Items), checkMessages(e.Messages)); err != nil {
		return fmt.Errorf("%w: %w", errEffects, err)
	}

	if size := e.size() + plainRecord; size > maxTransaction {
		return fmt.Errorf("%w: with the record they have %d bytes, a transaction takes %d", errEffects, size, maxTransaction)
	}

	return nil
}

// checkTwice returns an error if two items are the same one, or one is the record of the key, as far as their keys are known.
func (s *Store) checkTwice(partition string, items []types.TransactWriteItem) error {
	keyNames := s.knownKeyNames(items)
	seen := map[string]int{tableName(s.table) + "\n" + itemText(s.key(partition)): -1}

	for i, it := range items {
		table, _ := keyOf(it)

		id, ok := identify(it, table, keyNames[table])
		if !ok {
			continue // a Put into a table whose key is not known
		}

		if earlier, twice := seen[id]; twice && earlier < 0 {
			return fmt.Errorf("item %d: it is the record of the key itself", i)
		} else if twice {
			return fmt.Errorf("item %d: it is the same item as item %d; a transaction takes an item once", i, earlier)
		}

		seen[id] = i
	}

	return nil
}

// knownKeyNames returns for each table the names of its key attributes, as far as the items name them.
func (s *Store) knownKeyNames(items []types.TransactWriteItem) map[string][]string {
	known := map[string][]string{}

	for _, it := range items {
		if table, key := keyOf(it); key != nil {
			known[table] = names(key)
		}
	}

	known[tableName(s.table)] = s.keyNames()

	return known
}

func (s *Store) keyNames() []string { return names(s.key("")) }

// size is about how many bytes the effects have in a transaction.
func (e *Effects) size() int {
	size := messagesSize(e.Messages)
	for _, it := range e.Items {
		size += sentSize(it)
	}

	return size
}
