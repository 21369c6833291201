package mutation

// httpMutants change what an HTTP client gets, and what its request leaves behind.
var httpMutants = []mutant{
	{
		why:  "two callers share a key",
		file: "lambdawrap/http_request.go",
		old:  `parts := []string{caller, header}`,
		new:  `parts := []string{"", header}`,
		pkg:  "lambdawrap", run: "TestHTTPCallersDoNotShareKeys",
	},
	{
		why:  "a request without a caller runs in a common scope",
		file: "lambdawrap/http_request.go",
		old:  `if err == nil && caller == "" {`,
		new:  `if err != nil && caller == "" {`,
		pkg:  "lambdawrap", run: "TestHTTPWithoutACallerStoresNothing",
	},
	{
		why:  "requests without a key share one",
		file: "lambdawrap/http_request.go",
		old:  `parts = append(parts, rand.Text())`,
		new:  `parts = append(parts, rand.Text()[:0])`,
		pkg:  "lambdawrap", run: "TestHTTPWithoutAKeyIsRefusedOrRunsUnderARandomOne",
	},
	{
		why:  "the first of several keys counts",
		file: "internal/httprequest/httprequest.go",
		old:  `len(values) > 1 || `,
		new:  ``,
		pkg:  "lambdawrap", run: "TestHTTPKeyIsOneHeaderOfVisibleCharacters",
	},
	{
		why:  "another query under a key gets the first answer",
		file: "internal/httprequest/httprequest.go",
		old:  `r.URL.EscapedPath(), query,`,
		new:  `r.URL.EscapedPath(), query[:0],`,
		pkg:  "lambdawrap", run: "TestHTTPAnotherRequestUnderAKeyIsRefused",
	},
	{
		why:  "parts of a query that cannot be read do not count",
		file: "internal/httprequest/httprequest.go",
		old:  `url.ParseQuery(query); err == nil {`,
		new:  `url.ParseQuery(query); err == nil || true {`,
		pkg:  "lambdawrap", run: "TestHTTPAnotherRequestUnderAKeyIsRefused",
	},
	{
		why:  "a client that leaves cancels the work",
		file: "lambdawrap/http.go",
		old:  `workContext(context.WithoutCancel(r.Context()))`,
		new:  `workContext(context.Context(r.Context()))`,
		pkg:  "lambdawrap", run: "TestHTTPAClientThatLeavesCancelsNothing",
	},
	{
		why:  "there is no reserve",
		file: "lambdawrap/http.go",
		old:  `h.timesOf(r.Context())`,
		new:  `(&wrapper{}).timesOf(r.Context())`,
		pkg:  "lambdawrap", run: "TestHTTPTheHandlersContextEndsBeforeTheDeadline",
	},
	{
		why:  "a handler starts without time",
		file: "lambdawrap/http_exchange.go",
		old:  `case ctx.Err() != nil:`,
		new:  `case ctx.Err() != nil && work == nil:`,
		pkg:  "lambdawrap", run: "TestHTTPAClaimThatComesTooLateIsGivenBackUnused",
	},
	{
		why:  "a function without time is taken for an outage of DynamoDB",
		file: "lambdawrap/http_exchange.go",
		old:  `if ctx.Err() != nil {`,
		new:  `if ctx.Err() != nil && x == nil {`,
		pkg:  "lambdawrap", run: "TestHTTPWithoutTimeNothingRuns",
	},
	{
		why:  "a conflict is kept as the answer",
		file: "lambdawrap/http.go",
		old:  `http.StatusRequestTimeout, http.StatusConflict,`,
		new:  `http.StatusRequestTimeout,`,
		pkg:  "lambdawrap", run: "TestHTTPKeepsTheAnswersThatAreFinal",
	},
	{
		why:  "a failure is kept as the answer",
		file: "lambdawrap/http.go",
		old:  `status < http.StatusInternalServerError`,
		new:  `status < 600`,
		pkg:  "lambdawrap", run: "TestHTTPKeepsTheAnswersThatAreFinal",
	},
	{
		why:  "a replay has the cookie of the first caller's session",
		file: "internal/httpanswer/stored.go",
		old:  `isContent || slices.Contains(keptHeaders, canonical)`,
		new:  `isContent || slices.Contains(keptHeaders, canonical) || canonical == "Set-Cookie"`,
		pkg:  "lambdawrap", run: "TestHTTPReplaysStatusBody",
	},
	{
		why:  "a replay has the encoding that a compressor chose for the first client",
		file: "internal/httpanswer/stored.go",
		old:  ` && !slices.Equal(values, before[name])`,
		new:  ``,
		pkg:  "lambdawrap", run: "TestHTTPReplaysNoHeaderOfTheMiddlewareAroundAnEarlierExchange",
	},
	{
		why:  "headers of any size are kept",
		file: "internal/httpanswer/stored.go",
		old:  `if size > maxKeptHeader {`,
		new:  `if size > 1<<20 {`,
		pkg:  "lambdawrap", run: "TestHTTPAnswersThatDoNotFitIntoTheRecord",
	},
	{
		why:  "the status of an answer without its body is lost",
		file: "internal/httpanswer/stored.go",
		old:  `if result = small.encode(); fits(result) {`,
		new:  `if result = nil; fits(result) {`,
		pkg:  "lambdawrap", run: "TestHTTPAnswersThatDoNotFitIntoTheRecord",
	},
	{
		why:  "the answer is sent before it is stored",
		file: "internal/httpanswer/held.go",
		old:  `return a.body.Write(b)`,
		new:  `_, _ = a.w.Write(b); return a.body.Write(b)`,
		pkg:  "lambdawrap", run: "TestHTTPWriterHoldsTheAnswerBack",
	},
	{
		why:  "trailers are lost without a word",
		file: "lambdawrap/http_exchange.go",
		old:  `case x.answer.HasTrailers():`,
		new:  `case x.answer.HasTrailers() && x.answer == nil:`,
		pkg:  "lambdawrap", run: "TestHTTPRefusesTrailers",
	},
	{
		why:  "a panic keeps the key claimed",
		file: "lambdawrap/http_exchange.go",
		old:  `work.Settle(ctx, nil, errPanicked)`,
		new:  `_ = work`,
		pkg:  "lambdawrap", run: "TestHTTPAPanicGoesOnAndReleasesTheKey",
	},
	{
		why:  "a handler that was taken over gives its own answer",
		file: "idemddb/ending.go",
		old: `	case !errors.Is(err, ErrUnsent):
		e.Record = fenced.other()`,
		new: `	case err == nil:
		e.Record = fenced.other()`,
		pkg: "lambdawrap", run: "TestHTTPWhatATakenOverHandlerAnswers",
	},
	{
		why:  "what is not known to be committed is answered as done",
		file: "lambdawrap/http_exchange.go",
		old:  `case o.err == nil, o.done, isHandlers:`,
		new:  `case o.err == nil, o.done, o.name == OutcomeUncommitted, isHandlers:`,
		pkg:  "lambdawrap", run: "TestHTTPACompletionThatDoesNotGetThrough",
	},
	{
		why:  "a verdict is answered that no record holds",
		file: "lambdawrap/http_exchange.go",
		old:  `case o.name == OutcomeFailed && !o.unknown:`,
		new:  `case o.name == OutcomeFailed:`,
		pkg:  "lambdawrap", run: "TestHTTPARefusedConditionWhoseSettlementIsNotKnown",
	},
	{
		why:  "a missing permission is answered as a false condition",
		file: "lambdawrap/http_exchange.go",
		old:  ` && effect.Code != transact.ConditionFailed`,
		new:  ` && effect == nil`,
		pkg:  "lambdawrap", run: "TestHTTPAStagedItemThatDynamoDBRefusesForAnotherReason",
	},
	{
		why:  "a client comes back before the lease is over",
		file: "lambdawrap/http_exchange.go",
		old:  `x.store.RetryAfter(o.until)+time.Millisecond, time.Second`,
		new:  `0*x.store.RetryAfter(o.until), time.Second`,
		pkg:  "lambdawrap", run: "TestHTTPAKeyInProgressIsAnsweredWithTheRestOfItsLease",
	},
	{
		why:  "a success that staged nothing is committed without a claim",
		file: "lambdawrap/http_exchange.go",
		old:  `case errStage != nil && status < http.StatusBadRequest:`,
		new:  `case errStage != nil && status < 0:`,
		pkg:  "lambdawrap", run: "TestHTTPOptimisticDemandsThatSomethingIsStaged",
	},
	{
		why:  "a duplicate that fails without a claim does not get the first answer",
		file: "idemddb/work_commit.go",
		old: `	case rec != nil:
		return Ending{Kind: Replayed, Record: rec}
	case err == nil:
		return e`,
		new: `	case rec != nil && err != nil:
		return Ending{Kind: Replayed, Record: rec}
	case err == nil:
		return e`,
		pkg: "lambdawrap", run: "TestHTTPOptimisticADuplicateThatFailsGetsTheFirstAnswer",
	},
	{
		why:  "an answer is stored that cannot be read again",
		file: "internal/httpanswer/stored.go",
		old:  `c == 0x7f })`,
		new:  `c == 0x7f }) && value == ""`,
		pkg:  "lambdawrap", run: "FuzzHTTPStoredAnswersAreReplayedAsTheyWere",
	},
	{
		why:  "without a sweep, the other's answer is given before its messages are sent",
		file: "idemddb/ending.go",
		old: `	case !errors.Is(err, ErrUnsent):
		e.Record`,
		new: `	default:
		e.Record`,
		pkg: "lambdawrap", run: "TestHTTPWithoutASweepTheOthersAnswer",
	},
	{
		why:  "a lost answer is replayed as a success",
		file: "lambdawrap/http_exchange.go",
		old:  `if rec.ResultOmitted {`,
		new:  `if rec.ResultOmitted && rec.Key == "" {`,
		pkg:  "lambdawrap", run: "TestHTTPAnswersThatAreLost",
	},
}
