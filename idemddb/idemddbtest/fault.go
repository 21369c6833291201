package idemddbtest

// A Fault is what goes wrong with one request or with its answer.
type Fault string

const (
	// None is no fault.
	None Fault = ""

	// LostRequest breaks the connection before the request arrives: nothing is applied.
	LostRequest Fault = "LostRequest"
	// LostReply breaks the connection before the answer arrives: the request is applied, and its sender cannot know.
	LostReply Fault = "LostReply"
	// LateRequest breaks the connection as well. [DB.Deliver] applies the request later, when its sender has given it up.
	LateRequest Fault = "LateRequest"
	// LateCommit breaks the connection of a transaction after it has arrived. If its writes are possible, it stays in flight and
	// holds its items until [DB.Deliver] commits it, see [Transaction]; else DynamoDB cancels it at once. For any other request
	// LateCommit does what LateRequest does.
	LateCommit Fault = "LateCommit"
	// LateReply applies the request at once and never answers: the call waits for the end of its context.
	LateReply Fault = "LateReply"
	// TruncatedBody applies the request and cuts its answer off: status 200 and JSON that ends too early. The SDK does not retry
	// that.
	TruncatedBody Fault = "TruncatedBody"
	// EmptyAnswer applies nothing and answers status 200 without a body, as a proxy may. The SDK returns an output without content
	// and no error.
	EmptyAnswer Fault = "EmptyAnswer"
	// EmptyAnswerApplied applies the request and answers as EmptyAnswer does, even if a condition refused the write.
	EmptyAnswerApplied Fault = "EmptyAnswerApplied"
	// MissingResponse applies the request. The answer to a call of statements lacks the response to the last one.
	MissingResponse Fault = "MissingResponse"
	// ServerErrorApplied applies the request and answers InternalServerError, status 500.
	ServerErrorApplied Fault = "ServerErrorApplied"
	// ConditionWithoutItem applies the request. If a condition fails, the answer lacks the item that was asked for; in a call of
	// statements, and in a transaction, this holds for each of them.
	ConditionWithoutItem Fault = "ConditionWithoutItem"

	// The others refuse the request: nothing is applied, and the answer is an error of the service.

	// Throttle is a ProvisionedThroughputExceededException: a hot key, or a table's limit.
	Throttle Fault = "Throttle"
	// ThrottleAccount is a ThrottlingException.
	ThrottleAccount Fault = "ThrottleAccount"
	// ServerError is an InternalServerError, status 500.
	ServerError Fault = "ServerError"
	// AccessDenied is an AccessDeniedException: a missing IAM permission, for statements dynamodb:PartiQLInsert, PartiQLUpdate or
	// PartiQLSelect.
	AccessDenied Fault = "AccessDenied"
	// TransactionConflict is a TransactionConflictException: another transaction holds the item. A transaction is canceled instead,
	// with that reason for its first item, and the other items have the reasons that they have without the fault. Of a call of
	// statements the first one is refused, and the others are applied.
	TransactionConflict Fault = "TransactionConflict"
	// ThrottleReason cancels a transaction with the reason ThrottlingError for its last item. The other items have the reasons that
	// they have without the fault. For any other request ThrottleReason does what ThrottleAccount does.
	ThrottleReason Fault = "ThrottleReason"
	// CanceledWithoutReasons cancels a transaction with an error that lacks the reasons. For any other request CanceledWithoutReasons
	// does what TransactionConflict does.
	CanceledWithoutReasons Fault = "CanceledWithoutReasons"
	// TransactionInProgress is a TransactionInProgressException: a transaction with this ClientRequestToken is under way.
	TransactionInProgress Fault = "TransactionInProgress"
	// ReplicatedWriteConflict is a ReplicatedWriteConflictException: another Region of a strongly consistent global table is writing.
	ReplicatedWriteConflict Fault = "ReplicatedWriteConflict"
)
