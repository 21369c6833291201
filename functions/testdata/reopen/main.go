// Reopen lets keys that ended as FAILED run again, once their cause is mended:
//
//	go run . TABLE NAMESPACE KEY...
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
)

func main() {
	if len(os.Args) < 4 {
		log.Fatal("usage: reopen TABLE NAMESPACE KEY...")
	}
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	store, err := idemddb.New(dynamodb.NewFromConfig(cfg), os.Args[1], os.Args[2], nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, key := range os.Args[3:] {
		if err := store.Reopen(ctx, key); err != nil {
			log.Fatalf("%s: %v", key, err)
		}
		fmt.Println(key, "may be claimed again")
	}
}
