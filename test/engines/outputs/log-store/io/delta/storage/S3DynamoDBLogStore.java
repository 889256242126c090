package io.delta.storage;

import org.apache.hadoop.conf.Configuration;

/**
 * Stands in for Delta's log store of this name, which cannot be told of another DynamoDB than AWS's own. It reads as Delta's log store for S3
 * does, and prints what Spark was told of the shared table.
 */
public class S3DynamoDBLogStore extends S3SingleDriverLogStore {
    private static final String PREFIX = "spark.io.delta.storage.S3DynamoDBLogStore.ddb.";

    public S3DynamoDBLogStore(Configuration configuration) throws ClassNotFoundException {
        super(configuration);
        // Delta's own class needs it, and does not bring it.
        Class.forName("com.amazonaws.services.dynamodbv2.AmazonDynamoDBClient");
        System.out.println(
            "log store: " + configuration.get(PREFIX + "tableName") + " in " + configuration.get(PREFIX + "region"));
    }
}
