package lambdawrap

import (
	"log/slog"
	"strconv"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/internal/kpl"
)

// openAggregate returns the user records of a record that the Kinesis Producer Library aggregated; none for an ordinary record.
//
// All of them have the sequence number of the aggregate, because that is what Lambda can go on from. Their index in it tells them
// apart.
func openAggregate(r events.KinesisEventRecord) []unit[events.KinesisEventRecord] {
	number := r.Kinesis.SequenceNumber

	users, err := kpl.Open(r.Kinesis.Data)
	if err != nil {
		return []unit[events.KinesisEventRecord]{
			{record: r, number: number, id: slog.String(sequenceNumber, number), noKey: noKey("%w", err)},
		}
	}

	units := make([]unit[events.KinesisEventRecord], len(users))

	for i, user := range users {
		u, index := r, strconv.Itoa(i)
		u.Kinesis.Data, u.Kinesis.PartitionKey = user.Data, user.PartitionKey

		if r.EventID != "" { // without it there is no default key
			u.EventID += ":" + index
		}

		units[i] = unit[events.KinesisEventRecord]{record: u, number: number, id: slog.String(sequenceNumber, number+":"+index)}
	}

	return units
}
