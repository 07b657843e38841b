"""What a Spark user calls: `enable`, `disable`, `explain`, `sql`; and the hooks that `enable` puts in place."""
