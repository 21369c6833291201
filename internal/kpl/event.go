package kpl

import (
	"strconv"

	"github.com/aws/aws-lambda-go/events"
)

// Split returns a record for each user record of an aggregated record; none for an ordinary record.
//
// All of them have the sequence number of the aggregate, because that is what Lambda can go on from. Their index in it tells them
// apart: it is added to the eventID, unless the record has none, because then there is no default key.
func Split(r events.KinesisEventRecord) ([]events.KinesisEventRecord, error) {
	users, err := Open(r.Kinesis.Data)
	if err != nil {
		return nil, err
	}

	records := make([]events.KinesisEventRecord, len(users))

	for i, user := range users {
		u := r
		u.Kinesis.Data, u.Kinesis.PartitionKey = user.Data, user.PartitionKey

		if r.EventID != "" {
			u.EventID += ":" + strconv.Itoa(i)
		}

		records[i] = u
	}

	return records, nil
}
