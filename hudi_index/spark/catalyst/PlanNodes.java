package hudi_index;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.CTESubstitution$;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedGenerator;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.ParseToDate;
import org.apache.spark.sql.catalyst.expressions.ParseToTimestamp;
import org.apache.spark.sql.catalyst.expressions.SpecifiedWindowFrame;
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias$;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.CommandExecutionMode$;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataType;
import scala.Option;
import scala.Product;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.JavaConverters;

/**
 * What a plan is made of, told to Python, which decides about it.
 *
 * <p>Every node that a plan reaches by what its nodes were made of is listed, whatever it is to them: child, common
 * table expression, plan of a subquery. Nothing is carried out here: commands run as soon as a Dataset is made of
 * them, so no Dataset is. Compiled by Janino: no generics, no lambdas.
 */
public final class PlanNodes {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** The classes of built-in functions by their name, whatever a session has put in their place. */
  public String functions() throws Exception {
    Map found = new LinkedHashMap();
    Iterator names = FunctionRegistry$.MODULE$.builtin().listFunction().iterator();
    while (names.hasNext()) {
      FunctionIdentifier name = (FunctionIdentifier) names.next();
      Option info = FunctionRegistry$.MODULE$.builtin().lookupFunction(name);
      if (info.isDefined()) {
        found.put(name.funcName(), ((ExpressionInfo) info.get()).getClassName());
      }
    }
    return JSON.writeValueAsString(found);
  }

  /** A parsed query in which a name stands for a plan. */
  public LogicalPlan over(LogicalPlan parsed, String view, LogicalPlan plan) {
    List named = new ArrayList();
    SubqueryAlias alias = SubqueryAlias$.MODULE$.apply(view, plan);
    named.add(new Tuple2(view, alias));
    return new UnresolvedWith(parsed, JavaConverters.asScalaBuffer(named).toSeq());
  }

  /** The same with the names of common table expressions resolved, and no other. */
  public LogicalPlan named(LogicalPlan plan) {
    return (LogicalPlan) CTESubstitution$.MODULE$.apply(plan);
  }

  /** The plan as it would be carried out. */
  public LogicalPlan analysed(SparkSession session, LogicalPlan plan) {
    QueryExecution execution =
        session.sessionState().executePlan(plan, CommandExecutionMode$.MODULE$.SKIP());
    execution.assertAnalyzed();
    return execution.analyzed();
  }

  /** All nodes of a plan or expression, but for those of a plan that is known. */
  public String of(Object root, LogicalPlan known) throws Exception {
    List found = new ArrayList();
    Set seen = Collections.newSetFromMap(new IdentityHashMap());
    Set relations = Collections.newSetFromMap(new IdentityHashMap());
    if (known != null) {
      Iterator leaves = known.collectLeaves().iterator();
      while (leaves.hasNext()) {
        Object leaf = leaves.next();
        relations.add(leaf instanceof LogicalRelation ? ((LogicalRelation) leaf).relation() : leaf);
      }
    }
    ArrayDeque waiting = new ArrayDeque();
    waiting.add(root);
    while (!waiting.isEmpty()) {
      Object each = waiting.removeLast();
      if (each == known || !seen.add(each)) {
        continue;
      }
      if (each instanceof TreeNode) {
        Map facts = facts(each, relations);
        found.add(facts);
        if (each instanceof LogicalRelation || Boolean.TRUE.equals(facts.get("is_known"))) {
          continue;
        }
        pushAll(((TreeNode) each).children().iterator(), waiting);
        pushAll(((Product) each).productIterator(), waiting);
      } else if (each instanceof scala.collection.Iterable && !(each instanceof DataType)) {
        pushAll(((scala.collection.Iterable) each).iterator(), waiting);
      } else if (each instanceof Product && each.getClass().getName().startsWith("scala.")) {
        pushAll(((Product) each).productIterator(), waiting);
      }
    }
    return JSON.writeValueAsString(found);
  }

  private static void pushAll(Iterator all, ArrayDeque waiting) {
    while (all.hasNext()) {
      Object each = all.next();
      if (each instanceof scala.collection.Iterable || each instanceof Product) {
        waiting.add(each);
      }
    }
  }

  private static Map facts(Object node, Set relations) {
    Map found = new LinkedHashMap();
    found.put("class", node.getClass().getName());
    found.put("is_plan", Boolean.valueOf(node instanceof LogicalPlan));
    if (node instanceof LogicalPlan) {
      boolean isLeaf = ((LogicalPlan) node).children().isEmpty();
      Object leaf = node instanceof LogicalRelation ? ((LogicalRelation) node).relation() : node;
      found.put("is_known", Boolean.valueOf(isLeaf && relations.contains(leaf)));
      found.put("is_streaming", Boolean.valueOf(((LogicalPlan) node).isStreaming()));
    }
    if (node instanceof UnresolvedRelation) {
      found.put("name", ((UnresolvedRelation) node).multipartIdentifier().mkString("."));
    } else if (node instanceof UnresolvedFunction) {
      found.put("name", ((UnresolvedFunction) node).nameParts().mkString("."));
    } else if (node instanceof UnresolvedGenerator) {
      found.put("name", ((UnresolvedGenerator) node).name().unquotedString());
    } else if (node instanceof SpecifiedWindowFrame) {
      found.put("name", ((SpecifiedWindowFrame) node).frameType().sql());
    } else if (node instanceof Cast || node instanceof ParseToDate || node instanceof ParseToTimestamp) {
      describeCast((Expression) node, found);
    } else if (node instanceof AttributeReference) {
      found.put("is_hidden", Boolean.valueOf(((AttributeReference) node).metadata().contains("__file_source_metadata_col")));
    } else if (node instanceof AggregateFunction) {
      describeInputs((AggregateFunction) node, found);
    }
    if (node instanceof Expression) {
      found.put("is_foreign", Boolean.valueOf(node instanceof UserDefinedExpression));
      found.put("is_deterministic", Boolean.valueOf(((Expression) node).deterministic()));
    }
    return found;
  }

  /** Constant texts that become times; nothing is computed to find them, what is not plain is told. */
  private static void describeCast(Expression cast, Map found) {
    Expression child = (Expression) cast.children().head();
    if (cast.resolved() && isConstant(child) && child.dataType().typeName().equals("string")) {
      found.put("type", cast.dataType().typeName());
      Object value = child instanceof Literal ? ((Literal) child).value() : null;
      found.put("text", value == null ? null : value.toString());
      found.put("is_computed", Boolean.valueOf(!(child instanceof Literal)));
    }
  }

  /** `foldable` is false of what Spark has yet to replace. */
  private static boolean isConstant(Expression expression) {
    Iterator leaves = expression.collectLeaves().iterator();
    while (leaves.hasNext()) {
      if (!(leaves.next() instanceof Literal)) {
        return false;
      }
    }
    return true;
  }

  private static void describeInputs(AggregateFunction function, Map found) {
    List types = new ArrayList();
    Iterator children = function.children().iterator();
    while (children.hasNext()) {
      Expression child = (Expression) children.next();
      types.add(child.resolved() ? child.dataType().typeName() : "unknown");
    }
    found.put("inputs", types);
  }
}
