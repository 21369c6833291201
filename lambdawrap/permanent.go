package lambdawrap

// Permanent marks an error as one that no retry mends: the message's key ends for good, and the message goes to
// Options.DeadLetter. Permanent(nil) is nil. errors.Is and errors.AsType see the error inside.
func Permanent(err error) error {
	if err == nil {
		return nil
	}

	return &permanentError{err}
}

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }

func (e *permanentError) Unwrap() error { return e.err }

// Permanent is how package idemddb recognises the mark.
func (*permanentError) Permanent() bool { return true }
