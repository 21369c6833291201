package lambdawrap

import (
	"log/slog"
	"strconv"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/internal/kpl"
)

// openAggregate returns the user records of a record that the Kinesis Producer Library aggregated; none for an ordinary record.
func openAggregate(r events.KinesisEventRecord) []unit[events.KinesisEventRecord] {
	number := r.Kinesis.SequenceNumber

	users, err := kpl.Split(r)
	if err != nil {
		return []unit[events.KinesisEventRecord]{
			{record: r, number: number, id: slog.String(sequenceNumber, number), noKey: noKey("%w", err)},
		}
	}

	units := make([]unit[events.KinesisEventRecord], len(users))
	for i, u := range users {
		units[i] = unit[events.KinesisEventRecord]{record: u, number: number, id: slog.String(sequenceNumber, number+":"+strconv.Itoa(i))}
	}

	return units
}
