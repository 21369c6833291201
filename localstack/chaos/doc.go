// Package chaos holds tests that run functions/payments alone, and behind functions/api, as they are deployed, in several
// processes, while requests are lost, held, refused or answered wrongly and processes are killed or stopped. `make chaos` runs
// them; SEED repeats what a run has done.
//
// DynamoDB Local is real. Lambda's runtime API, the function URL and the two queues are simulated in the test's own process, so
// that it knows of each request and delivery what became of it. Proxies between each process and DynamoDB Local and the queues
// make the faults.
package chaos
