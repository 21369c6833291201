package idemddb

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/internal/record"
)

// These methods give packages operate and outbox what they must know of a Store.

// Table returns the name or the ARN of the table, as it was given to New.
func (s *Store) Table() string { s.mustExist(); return s.table }

// Namespace returns the namespace, as it was given to New.
func (s *Store) Namespace() string { s.mustExist(); return s.namespace }

// Options returns the options of the Store, with the defaults filled in. They may be changed, as for another Store.
func (s *Store) Options() Options {
	s.mustExist()

	o := s.opts
	o.Senders = maps.Clone(o.Senders)

	return o
}

// GetItemInput returns the request for a consistent read of the record of a key, or ErrBadKey.
func (s *Store) GetItemInput(key string) (*dynamodb.GetItemInput, error) {
	s.mustExist()

	partition, err := record.Partition(s.namespace, key, s.opts.HashKeys)
	if err != nil {
		return nil, keyError("read", key, err)
	}

	return &dynamodb.GetItemInput{TableName: &s.table, Key: s.records.Key(partition), ConsistentRead: new(true)}, nil
}
