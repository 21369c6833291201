package main

import (
	"maps"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

var advised = regexp.MustCompile(`(?m)^  → .*: idem (.*?)(; then redrive the dead-letter queue)?$`)

// follow types the last command that the screen advises, as a shell reads it.
func (n *night) follow() {
	n.t.Helper()

	commands := advised.FindAllStringSubmatch(n.lastOut, -1)
	if len(commands) == 0 {
		n.t.Fatalf("no command is advised:\n%s", n.shown())
	}

	command := strings.ReplaceAll(commands[len(commands)-1][1], "QUEUE_URL", n.aws.endpoint+"/queue")

	words, err := exec.CommandContext(n.t.Context(), "sh", "-c", `printf '%s\n' --yes `+command).Output()
	if err != nil {
		n.t.Fatalf("%s: %v", command, err)
	}

	args := strings.Split(strings.TrimSuffix(string(words), "\n"), "\n")
	n.idem(append([]string{args[1], args[0]}, args[2:]...)...)
}

// The messages of a record may go to several targets. The advice named one of them, and the others were left.
func TestTheCommandThatSendsIsForAllTargets(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.store = n.worker(&idemddb.Options{Senders: map[string]idemddb.Sender{"captured": nil, "it's mail": nil}})

	effects := idemddb.Effects{Messages: []idemddb.Message{
		{To: "captured", Body: "1"}, {To: "it's mail", Body: "2"}, {To: "captured", Body: "3"},
	}}
	if _, err := n.store.Commit(t.Context(), "-p 9", nil, nil, effects); err != nil {
		t.Fatal(err)
	}

	n.idem("show", "--", "-p 9")
	n.follow()
	n.expect(exitDone, "payments#-p 9: 3 sent, 0 left, 0 parked")
}

// What is advised for a record that cannot be read was refused for its messages.
func TestTheCommandsForARecordThatCannotBeReadAreDone(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.announce("p-9")
	n.edit("p-9", map[string]types.AttributeValue{"v": number("2")})
	n.idem("show", "p-9")
	n.expect(exitDone, "CORRUPT", "to captured, 19 bytes, not sent", "and lose its messages: idem forget --lose-messages --why '…' p-9")
	n.follow()
	n.expect(exitDone, "payments#p-9: deleted")
}

// edit changes attributes of a record by hand.
func (n *night) edit(key string, attributes map[string]types.AttributeValue) {
	n.t.Helper()

	edited := n.item(key)
	maps.Copy(edited, attributes)
	n.put(edited)
}

// Two spellings of a key have records. What was advised for each of them was refused, because it named both.
func TestTheCommandsForOneOfTwoSpellingsNameThatOne(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.fail("123", "no")
	n.fail("#123", "no")

	for _, args := range [][]string{{"show", "123"}, {"show", "--exact", "123"}} {
		n.idem(args...)
		n.follow()
		n.expect(exitDone)
	}

	n.expect(exitDone, "payments##123: open", "payments#123: open")
}

// A list has a hash in the place of a key that is long or hashed. Typed as a key, it was answered as if there were no record.
func TestAHashOfAListThatIsTypedAsAKeyIsToldFromAMissingRecord(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.fail(strings.Repeat("long", 300), "no")
	n.idem("list", "failed")

	hash := regexp.MustCompile(`sha256:\S+`).FindString(n.lastOut)

	for _, typed := range []string{hash, "payments#" + hash} {
		n.screen.Reset()
		n.idem("show", typed)
		n.expect(exitNothing, "; a hash is found with --hash")
	}

	n.idem("show", "--hash", hash)
	n.expect(exitDone, "FAILED. The key ended for good.")
	n.idem("show", "p-9")
	n.expect(exitNothing, "is the namespace right")
}
