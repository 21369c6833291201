// The consumer of payments with Powertools for AWS Lambda (TypeScript), as its documentation shows the batch utility and idempotency together:
// https://docs.aws.amazon.com/powertools/typescript/latest/features/idempotency/ "Batch integration". Below the handler stands what the Lambda
// runtime does: the runtime API's loop.
'use strict';

const http = require('node:http');
const { BatchProcessor, EventType, processPartialResponse } = require('@aws-lambda-powertools/batch');
const { IdempotencyConfig, makeIdempotent } = require('@aws-lambda-powertools/idempotency');
const { DynamoDBPersistenceLayer } = require('@aws-lambda-powertools/idempotency/dynamodb');
const { DynamoDBClient, UpdateItemCommand } = require('@aws-sdk/client-dynamodb');

const processor = new BatchProcessor(EventType.SQS);
const persistenceStore = new DynamoDBPersistenceLayer({ tableName: process.env.RECORDS });
const config = new IdempotencyConfig({ eventKeyJmesPath: 'powertools_json(body).payment' });
const dynamodb = new DynamoDBClient({});
const bank = new http.Agent({ keepAlive: true });

// request returns the answer of a server, and rejects if the connection breaks.
function request(agent, host, method, path, body) {
  const [hostname, port] = host.split(':');
  return new Promise((resolve, reject) => {
    const sent = http.request({ agent, hostname, port, method, path }, (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(parts).toString() }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

// check asks the bank whether the payment is good: what the handler does before its effect.
async function check(payment) {
  const { status } = await request(bank, process.env.BANK, 'GET', `/check/${payment}`);
  if (status !== 204) throw new Error(`the bank answered ${status}`);
}

const processRecord = makeIdempotent(
  async (record) => {
    const payment = JSON.parse(record.body);
    await check(payment.payment);
    await dynamodb.send(
      new UpdateItemCommand({
        TableName: process.env.ACCOUNTS,
        Key: { pk: { S: payment.account } },
        UpdateExpression: 'SET lastPayment = :payment ADD balance :amount',
        ExpressionAttributeValues: { ':payment': { S: payment.payment }, ':amount': { N: String(payment.amount) } },
      })
    );
    return { payment: payment.payment };
  },
  { persistenceStore, config }
);

async function handler(event, context) {
  config.registerLambdaContext(context);
  return processPartialResponse(event, processRecord, processor, { context });
}

async function serve() {
  const runtime = new http.Agent({ keepAlive: true });
  const api = process.env.AWS_LAMBDA_RUNTIME_API;
  for (;;) {
    const next = await request(runtime, api, 'GET', '/2018-06-01/runtime/invocation/next');
    const id = next.headers['lambda-runtime-aws-request-id'];
    const deadline = Number(next.headers['lambda-runtime-deadline-ms']);
    const context = {
      awsRequestId: id,
      functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
      functionVersion: '1',
      invokedFunctionArn: next.headers['lambda-runtime-invoked-function-arn'],
      memoryLimitInMB: '512',
      getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
    };
    let kind = 'response';
    let answer;
    try {
      answer = await handler(JSON.parse(next.body), context);
    } catch (error) {
      kind = 'error';
      answer = { errorType: error.name, errorMessage: error.message };
    }
    await request(runtime, api, 'POST', `/2018-06-01/runtime/invocation/${id}/${kind}`, JSON.stringify(answer));
  }
}

serve();
