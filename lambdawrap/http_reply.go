package lambdawrap

import (
	"net/http"

	"github.com/idemddb/go-idemddb/internal/idemhttp"
)

// reply is the writer of one answer. It knows whether the answer has begun.
type reply struct {
	http.ResponseWriter

	begun bool
}

// WriteHeader sends the status. An informational one does not begin the answer.
func (a *reply) WriteHeader(status int) {
	a.begun = a.begun || status >= http.StatusOK || status == http.StatusSwitchingProtocols
	a.ResponseWriter.WriteHeader(status)
}

// flush sends the answer before a panic goes on, because net/http then drops what it still holds back.
func (a *reply) flush() {
	_ = http.NewResponseController(a.ResponseWriter).Flush() // a writer that cannot flush holds nothing back
}

// end is deferred around all code of the user. If that code panicked or ended its goroutine before the answer began, end answers
// with 500, because some adapters, as lambdaurl of aws-lambda-go, send 200 where a handler ends without an answer. Then the panic
// goes on. The answer is flushed; after http.ErrAbortHandler it is not, because that panic asks for an aborted connection.
func (a *reply) end() {
	cause := recover()

	if !a.begun {
		idemhttp.ServerError.Write(a)

		if cause != http.ErrAbortHandler { //nolint:errorlint // net/http compares like this
			a.flush()
		}
	}

	if cause != nil {
		panic(cause) // still above the frames of the first panic, so that a stack shows where it began
	}
}
