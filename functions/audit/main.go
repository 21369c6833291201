// Audit judges each change of the records of the payments sample by the page of the record, docs/record.md. The stream of their
// table calls it.
//
// It has no memory, so it judges each change by itself: a second completion of a key, a fencing token that falls across a
// deletion, or a change that is missing, is for idem audit to find, which reads the stream as a whole. It changes nothing.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	handler, err := wire()
	if err != nil {
		log.Fatal(err)
	}

	lambda.Start(handler)
}
