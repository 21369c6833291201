package functions_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
)

func TestTemplateDeclaresTheEnvironmentThatTheCodeReads(t *testing.T) {
	template := readTemplate(t)

	for function, folder := range map[string]string{"Payments": "payments", "Relay": "relay", "Api": "api", "Auditor": "audit"} {
		want := append(variablesRead(t, folder), "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS") // the SDK reads these two
		want = slices.DeleteFunc(want, func(name string) bool { return name == "AWS_ENDPOINT_URL" })  // LocalStack sets it
		slices.Sort(want)

		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(template.functions[function].Environment.Variables))); diff != "" {
			t.Errorf("variables of %s (-read by the code +declared):\n%s", function, diff)
		}
	}

	variables := template.functions["Payments"].Environment.Variables

	for name, value := range variables {
		if parameter, ok := template.Parameters[value]; ok {
			value = string(parameter.Default)
		}

		t.Setenv(name, value)
	}

	env, err := ledger.ReadEnv()
	if err != nil {
		t.Error(err)
	}

	if diff := cmp.Diff(ledger.Env{Table: "RecordTable", LedgerTable: "LedgerTable", CapturedQueue: "CapturedQueue", Workers: 1}, env); diff != "" {
		t.Errorf("what the code reads with the parameters' defaults (-want +got):\n%s", diff)
	}
}

// variablesRead returns the environment variables that the Go code below a folder asks for by name.
func variablesRead(t *testing.T, folder string) []string {
	t.Helper()

	var names []string

	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}

		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}

		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				names = append(names, variableRead(t, path, call)...)
			}

			return true
		})

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return names
}

func variableRead(t *testing.T, path string, call *ast.CallExpr) []string {
	t.Helper()

	function, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 1 {
		return nil
	}

	if pkg, ok := function.X.(*ast.Ident); !ok || pkg.Name != "os" || function.Sel.Name != "Getenv" && function.Sel.Name != "LookupEnv" {
		return nil
	}

	literal, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		t.Fatalf("%s: os.%s of a computed name, which this test cannot read", path, function.Sel.Name)
	}

	name, err := strconv.Unquote(literal.Value)
	if err != nil {
		t.Fatal(err)
	}

	return []string{name}
}

// The template declares the endpoints empty, so that `sam local invoke` can override it. That is safe while the SDK takes empty
// for unset.
func TestTemplateEndpointIsUnsetToTheSDK(t *testing.T) {
	variables := readTemplate(t).functions["Payments"].Environment.Variables
	value := variables["AWS_ENDPOINT_URL_DYNAMODB"]

	if sqs := variables["AWS_ENDPOINT_URL_SQS"]; sqs != value {
		t.Errorf("AWS_ENDPOINT_URL_SQS is %q, want it as empty as that of DynamoDB", sqs)
	}

	for _, c := range []struct{ name, global string }{
		{"on AWS", ""},
		{"where one endpoint serves all, as LocalStack sets it", "http://127.0.0.1:4566"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
			t.Setenv("AWS_CA_BUNDLE", "")
			t.Setenv("AWS_REGION", "eu-west-1")
			t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", value)
			t.Setenv("AWS_ENDPOINT_URL", c.global)

			if c.global == "" {
				if err := os.Unsetenv("AWS_ENDPOINT_URL"); err != nil { // t.Setenv puts the old value back
					t.Fatal(err)
				}
			}

			cfg, err := config.LoadDefaultConfig(t.Context())
			if err != nil {
				t.Fatal(err)
			}

			var got string
			if endpoint := dynamodb.NewFromConfig(cfg).Options().BaseEndpoint; endpoint != nil {
				got = *endpoint
			}

			if got != c.global {
				t.Errorf("the client's endpoint is %q, want %q", got, c.global)
			}
		})
	}
}
