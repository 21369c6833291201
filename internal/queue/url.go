package queue

import (
	"fmt"
	"net/url"
	"path"
)

// CheckURL returns an error if the text cannot be the URL of a queue.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || !hasName(u.Path) {
		return fmt.Errorf("queueURL: must be a queue's URL, as https://sqs.REGION.amazonaws.com/ACCOUNT/NAME, is %q", text)
	}

	return nil
}

// hasName reports whether a path ends in a name. path.Base says "/" or "." where there is none.
func hasName(text string) bool {
	name := path.Base(text)

	return name != "/" && name != "."
}
