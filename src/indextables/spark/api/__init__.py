"""What a Spark user calls: `enable`, `spark.read`, `df.write`, `spark.sql`, `explain`, `indexquery`."""
