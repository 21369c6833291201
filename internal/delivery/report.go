package delivery

// Report is what became of the messages of one record.
type Report struct {
	Key                string // as stored: behind the namespace, perhaps as a digest
	Sent, Left, Parked int    // messages: sent now, to be sent later, and parked
}
