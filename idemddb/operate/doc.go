// Package operate looks at records and changes them by hand: for a key that is stuck, for one that failed and whose cause is
// mended, for messages that cannot be sent, for a record that must go. The command idem is built on it.
//
//	records, err := operate.New(store, client)
//	seen, err := records.Look(ctx, "p-9")
//	err = records.Reopen(ctx, seen, "anna", "account 7 has its currency now")
//
// Each change is a conditional write on the record as it was shown. If a worker or another operator has changed it meanwhile, the
// change is not made, and returns [ErrChanged]. Who made the change, when and why stay in the record's attribute op, until the
// next change.
//
//	status      what is true                                        what can be done
//	held        a worker has claimed the key                        wait; Release, Fail
//	stuck       the worker's lease ran out                          wait for the next claim, which takes the key over; Release, Fail.
//	                                                                With View.NoTakeover the next claim ends the key as failed
//	released    the claim was given back                            wait for the next claim; Fail
//	completed   the work is done                                    Send its messages; Forget
//	failed      the key ended for good                              mend the cause, then Reopen
//	expired     the retention is over, the key is new               nothing
//	corrupt     another format version, or a foreign item           deploy the version that wrote it; Forget
//
// View.SecondRun says why the work of a key may have been done twice, and List finds such keys (Selection.Twice).
//
// Held and stuck differ by the clock of this program: with a wrong one, a worker that lives may be shown as stuck. The change
// itself is fenced on the lease that was shown, not on the time.
//
// A change takes a claim away from a worker that may still live. None of the worker's writes is accepted after it:
//
//	after …     the worker's handler succeeds                       the key
//	Release     its message is done, its work is not recorded       is claimed again; Claim.Takeover is true unless View.NoTakeover
//	Fail        its message is done, the key stays failed           is refused
//	Forget      its message is done, nothing is recorded            is new
//
// If its handler has staged effects, they are not written, and its message comes back.
//
// # Permissions
//
// Look and Result need dynamodb:GetItem on the table; List dynamodb:Scan, and with Options.UnsentIndex dynamodb:Query on the
// index and dynamodb:GetItem; the changes dynamodb:UpdateItem; Forget dynamodb:DeleteItem as well; Send what its senders need.
package operate
