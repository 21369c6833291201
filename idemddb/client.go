package idemddb

import (
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/idemddb/go-idemddb/internal/httpclient"
)

// HTTPClient returns the HTTP client to set in aws.Config.HTTPClient for DynamoDB. The SDK's default client writes headers and
// body in two pieces, so a quick answer can arrive before the body is written, and the connection is then lost. It also keeps
// only 10 idle connections for each host. This client hands net/http a body that is known to be in memory, so that a request is
// one write, and it keeps as many connections as are used at a time. It is safe for concurrent use.
//
// Set it in the aws.Config after config.LoadDefaultConfig, which refuses any client but its own where AWS_CA_BUNDLE is set. The
// proxy settings of the environment and AWS_CA_BUNDLE apply; a bundle that cannot be read fails every request.
func HTTPClient() aws.HTTPClient { return httpclient.New() }
