package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/idemddb/go-idemddb/cmd/idem/internal/report"
)

// consumedHours is how many hours CloudWatch is asked for, each a point.
const consumedHours = 7 * 24

// consumed asks CloudWatch for the units that a table has consumed, by hours. An hour without a point consumed none.
func consumed(ctx context.Context, api cloudwatch.GetMetricDataAPIClient, table string, now time.Time) (*report.Consumed, error) {
	table = strings.TrimPrefix(sourceName(table), "table/") // CloudWatch knows the name, and not the ARN

	end := now.Truncate(time.Hour).Add(time.Hour)
	c := &report.Consumed{
		Begin: end.Add(-consumedHours * time.Hour), Resolution: time.Hour,
		Writes: make([]float64, consumedHours), Reads: make([]float64, consumedHours),
	}
	throttled := make([]float64, consumedHours)
	series := map[string][]float64{"writes": c.Writes, "reads": c.Reads, "writes_throttled": throttled, "reads_throttled": throttled}

	pages := cloudwatch.NewGetMetricDataPaginator(api, &cloudwatch.GetMetricDataInput{
		StartTime: &c.Begin, EndTime: &end, ScanBy: types.ScanByTimestampAscending,
		MetricDataQueries: []types.MetricDataQuery{
			sumOf("writes", "ConsumedWriteCapacityUnits", table), sumOf("reads", "ConsumedReadCapacityUnits", table),
			sumOf("writes_throttled", "WriteThrottleEvents", table), sumOf("reads_throttled", "ReadThrottleEvents", table),
		},
	})

	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("get metric data: %w", err)
		}

		for i := range page.MetricDataResults {
			if err := place(&page.MetricDataResults[i], c.Begin, series); err != nil {
				return nil, err
			}
		}
	}

	for _, n := range throttled {
		c.Throttled += n
	}

	return c, nil
}

// sumOf asks for the sums of a metric of a table, one for each hour.
func sumOf(id, metric, table string) types.MetricDataQuery {
	return types.MetricDataQuery{Id: &id, MetricStat: &types.MetricStat{
		Metric: &types.Metric{
			Namespace: new("AWS/DynamoDB"), MetricName: &metric, Dimensions: []types.Dimension{{Name: new("TableName"), Value: &table}},
		},
		Period: new(int32(time.Hour / time.Second)), Stat: new("Sum"),
	}}
}

// place adds the points of an answer to their hours.
func place(result *types.MetricDataResult, begin time.Time, series map[string][]float64) error {
	if result.Id == nil || series[*result.Id] == nil || len(result.Values) != len(result.Timestamps) {
		return errors.New("get metric data: the answer is not what was asked for")
	}

	values := series[*result.Id]

	for i, at := range result.Timestamps {
		if hour := int(at.Sub(begin) / time.Hour); !at.Before(begin) && hour < len(values) {
			values[hour] += result.Values[i]
		}
	}

	return nil
}
