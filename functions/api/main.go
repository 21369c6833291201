// Api is the sample's front: POST /payments behind a function URL. It accepts each payment once, and the payments function makes
// it.
package main

import (
	"context"
	"log"

	"github.com/aws/aws-lambda-go/lambdaurl"
)

func main() {
	handler, err := wire(context.Background())
	if err != nil {
		log.Fatal(err)
	}

	lambdaurl.Start(handler)
}
