package hudi_index;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.apache.hudi.HoodieFileIndex;
import org.apache.hudi.storage.StoragePath;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.hudi.HoodieSqlCommonUtils$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.PartialFunction;
import scala.collection.JavaConverters;
import scala.collection.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * Exchanges the file index of every Hudi snapshot read in a plan.
 *
 * <p>Twice in an optimizer's run: among the operator optimizations, which come before Hudi's own rule that prunes (and
 * asks Hudi's own indexes), relations get our file index; before cost-based optimization, when filters stand right
 * over relations, those are planned. A relation that has our file index is left alone, so it does not matter how often
 * a rule runs.
 *
 * <p>Rules can't be taken out of a session's extensions again, nor added to one session alone: sessions made of one
 * another share them. They do nothing while `Switch` is off, or in a session whose setting says so.
 *
 * <p>Spark compiles this text at run time (Janino: no generics, no lambdas).
 */
public final class SessionRule extends Rule {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String SETTING = "spark.hudi_index.enabled";
  private static final String OPTION = "hudi_index.enabled";
  private static final String AS_OF = "as.of.instant";
  private static final String NO_INDEX = "the table has no indexes";

  private final Switch on;
  private final boolean plansAhead;

  private SessionRule(Switch on, boolean plansAhead) {
    this.on = on;
    this.plansAhead = plansAhead;
  }

  public String ruleName() {
    return plansAhead ? "hudi_index.PlanAhead" : "hudi_index.ExchangeFileIndex";
  }

  public TreeNode apply(TreeNode plan) {
    if (!on.isOn) {
      return plan;
    }
    try {
      return ((LogicalPlan) plan).transform(plansAhead ? (PartialFunction) new Ahead() : (PartialFunction) new Exchange(on));
    } catch (Throwable error) {
      SessionFileIndex.leave("Hudi tables", error);
      return plan;
    }
  }

  /** What Python calls: it has no name for a class that was compiled at run time. */
  public static final class Factory {
    private static final Map SWITCHES = Collections.synchronizedMap(new WeakHashMap());

    /** The switch of all sessions that share a session's extensions. */
    public Switch of(SparkSession session) {
      SparkSessionExtensions extensions = session.extensions();
      synchronized (SWITCHES) {
        Switch found = (Switch) SWITCHES.get(extensions);
        if (found == null) {
          found = new Switch();
          extensions.injectOptimizerRule(new Builder(found, false));
          extensions.injectPreCBORule(new Builder(found, true));
          SWITCHES.put(extensions, found);
        }
        return found;
      }
    }
  }

  /** Whether the rules do anything, for whom they ask, and what they know of tables. */
  public static final class Switch {
    private volatile boolean isOn;
    private volatile boolean wasOn;
    private volatile Function planner;
    private volatile boolean skipsNatively;
    private final ConcurrentHashMap isIndexed = new ConcurrentHashMap();

    /** Switches on, and forgets what was known of tables. */
    public void on(Function asked, boolean leavesSkipping) {
      planner = asked;
      skipsNatively = leavesSkipping;
      isIndexed.clear();
      isOn = true;
      wasOn = true;
    }

    public void off() {
      isOn = false;
      planner = null;
      isIndexed.clear();
    }

    /** Whether anybody ever switched on. */
    public boolean wasOn() {
      return wasOn;
    }

    /** Looks anew whether tables have indexes. */
    public void forget() {
      isIndexed.clear();
    }

    /** The Hudi tables that a plan reads, each with the number of our plan, or why there is none, in JSON. */
    public String scans(LogicalPlan plan) throws Exception {
      List found = new ArrayList();
      collect(plan, found);
      return JSON.writeValueAsString(found);
    }

    private void collect(LogicalPlan plan, List found) throws Exception {
      if (plan instanceof LogicalRelation) {
        Map scan = describe((LogicalRelation) plan);
        if (scan != null) {
          found.add(scan);
        }
      }
      Iterator children = IndexedFileIndex.asList(plan.children()).iterator();
      while (children.hasNext()) {
        collect((LogicalPlan) children.next(), found);
      }
      Iterator subqueries = IndexedFileIndex.asList(plan.subqueries()).iterator();
      while (subqueries.hasNext()) {
        collect((LogicalPlan) subqueries.next(), found);
      }
    }

    private Map describe(LogicalRelation node) throws Exception {
      if (!(node.relation() instanceof HadoopFsRelation)) {
        return null;
      }
      FileIndex location = ((HadoopFsRelation) node.relation()).location();
      Map scan = new LinkedHashMap();
      if (location instanceof SessionFileIndex) {
        SessionFileIndex ours = (SessionFileIndex) location;
        scan.put("table", ours.table());
        scan.put("plan", ours.number());
        scan.put("reason", ours.number() == null ? "no filter on its data columns" : null);
        return scan;
      }
      if (location instanceof IndexedFileIndex) {
        scan.put("table", location.rootPaths().mkString(", "));
        scan.put("reason", "read_indexed planned it, see last_plans: " + location);
        return scan;
      }
      if (!(location instanceof HoodieFileIndex)) {
        return null;
      }
      HoodieFileIndex hudi = (HoodieFileIndex) location;
      scan.put("table", tableOf(hudi));
      String reason = reasonAgainst(hudi);
      scan.put("reason", reason != null ? reason : "optimized before the session was enabled, or left after a failure");
      return scan;
    }

    /** Why a relation is left as it is, null if it is not. */
    private String reasonAgainst(HoodieFileIndex hudi) throws Exception {
      if (!isOn) {
        return "the session is not enabled";
      }
      if (!SQLConf.get().getConfString(SETTING, "true").equalsIgnoreCase("true")) {
        return SETTING + " is not true in this session";
      }
      if (hudi.getClass() != HoodieFileIndex.class) {
        return "an incremental or change-data query";
      }
      if (!"SNAPSHOT".equals(String.valueOf(hudi.getQueryType()))) {
        return "a " + String.valueOf(hudi.getQueryType()).toLowerCase().replace('_', '-') + " query";
      }
      scala.Option said = hudi.options().get(OPTION);
      if (said.isDefined() && !((String) said.get()).equalsIgnoreCase("true")) {
        return "its option " + OPTION + " is not true";
      }
      return isIndexed(tableOf(hudi)) ? null : NO_INDEX;
    }

    private boolean isIndexed(String table) throws Exception {
      Boolean known = (Boolean) isIndexed.get(table);
      if (known == null) {
        Function asked = planner;
        if (asked == null) {
          return false;
        }
        Map request = new LinkedHashMap();
        request.put("exists", table);
        Map answer = (Map) JSON.readValue((String) asked.apply(JSON.writeValueAsString(request)), Map.class);
        known = (Boolean) answer.get("exists");
        if (known == null) {
          // Could not be told, and said so: asked again by the next query.
          return false;
        }
        isIndexed.put(table, known);
      }
      return known.booleanValue();
    }

    private SessionFileIndex indexOver(HadoopFsRelation relation, HoodieFileIndex hudi) {
      Map facts = new LinkedHashMap();
      facts.put("table", tableOf(hudi));
      scala.Option asOf = hudi.options().get(AS_OF);
      facts.put("as_of", asOf.isDefined() ? HoodieSqlCommonUtils$.MODULE$.formatQueryInstant((String) asOf.get()) : null);
      Map options = new LinkedHashMap();
      Iterator given = asMap(relation.options()).entrySet().iterator();
      while (given.hasNext()) {
        Map.Entry each = (Map.Entry) given.next();
        // The others may hold secrets, and nobody asks for them.
        if (((String) each.getKey()).toLowerCase().contains("rebasemode")) {
          options.put(each.getKey(), each.getValue());
        }
      }
      facts.put("options", options);
      return new SessionFileIndex(hudi, planner, skipsNatively, facts);
    }
  }

  /** The table in our words: a local path, or a far location as Hadoop writes it. */
  private static String tableOf(HoodieFileIndex hudi) {
    StoragePath path = hudi.getBasePath();
    String scheme = path.toUri().getScheme();
    return scheme == null || scheme.equals("file") ? path.toUri().getPath() : path.toString();
  }

  private static Map asMap(scala.collection.Map map) {
    return (Map) JavaConverters.mapAsJavaMapConverter(map).asJava();
  }

  private static LogicalRelation over(LogicalRelation node, FileIndex location) {
    HadoopFsRelation relation = (HadoopFsRelation) node.relation();
    HadoopFsRelation changed = new HadoopFsRelation(
        location,
        relation.partitionSchema(),
        relation.dataSchema(),
        relation.bucketSpec(),
        relation.fileFormat(),
        relation.options(),
        relation.sparkSession());
    return node.copy(changed, node.output(), node.catalogTable(), node.isStreaming());
  }

  /** Makes a rule for each run of an optimizer. */
  private static final class Builder extends AbstractFunction1 {
    private final Switch on;
    private final boolean plansAhead;

    Builder(Switch on, boolean plansAhead) {
      this.on = on;
      this.plansAhead = plansAhead;
    }

    public Object apply(Object session) {
      return new SessionRule(on, plansAhead);
    }
  }

  /** Gives Hudi's relations our file index. */
  private static final class Exchange extends AbstractPartialFunction {
    private final Switch on;

    Exchange(Switch on) {
      this.on = on;
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof LogicalRelation
          && ((LogicalRelation) node).relation() instanceof HadoopFsRelation
          && ((HadoopFsRelation) ((LogicalRelation) node).relation()).location() instanceof HoodieFileIndex;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      if (!isDefinedAt(node)) {
        return otherwise.apply(node);
      }
      LogicalRelation relation = (LogicalRelation) node;
      HadoopFsRelation files = (HadoopFsRelation) relation.relation();
      HoodieFileIndex hudi = (HoodieFileIndex) files.location();
      try {
        if (relation.isStreaming() || on.reasonAgainst(hudi) != null) {
          return node;
        }
        return over(relation, on.indexOver(files, hudi));
      } catch (Throwable error) {
        SessionFileIndex.leave(tableOf(hudi), error);
        return node;
      }
    }
  }

  /** Plans relations for the filters right over them. */
  private static final class Ahead extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      if (!(node instanceof Filter) || !(((Filter) node).child() instanceof LogicalRelation)) {
        return false;
      }
      Object relation = ((LogicalRelation) ((Filter) node).child()).relation();
      return relation instanceof HadoopFsRelation
          && ((HadoopFsRelation) relation).location() instanceof SessionFileIndex;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      if (!isDefinedAt(node)) {
        return otherwise.apply(node);
      }
      Filter filter = (Filter) node;
      LogicalRelation relation = (LogicalRelation) filter.child();
      SessionFileIndex location = (SessionFileIndex) ((HadoopFsRelation) relation.relation()).location();
      try {
        List ofPartitions = new ArrayList();
        List ofData = new ArrayList();
        split(filter.condition(), location.partitionSchema(), ofPartitions, ofData);
        if (ofData.isEmpty()) {
          return node;
        }
        SessionFileIndex planned = location.plannedFor(named(ofPartitions, relation), named(ofData, relation));
        return planned == location ? node : filter.copy(filter.condition(), over(relation, planned));
      } catch (Throwable error) {
        SessionFileIndex.leave(location.table(), error);
        return node;
      }
    }

    /** As Spark does when it makes a scan, but for conditions over both kinds of columns, which it takes apart. */
    private static void split(Expression condition, StructType partitions, List ofPartitions, List ofData) {
      if (condition instanceof And) {
        split(((And) condition).left(), partitions, ofPartitions, ofData);
        split(((And) condition).right(), partitions, ofPartitions, ofData);
        return;
      }
      if (!condition.deterministic() || SubqueryExpression$.MODULE$.hasSubquery(condition)) {
        return;
      }
      int named = 0;
      List references = IndexedFileIndex.asList(condition.references().toSeq());
      for (int i = 0; i < references.size(); i++) {
        named += isAmong(partitions, ((Attribute) references.get(i)).name()) ? 1 : 0;
      }
      if (named == 0) {
        ofData.add(condition);
      } else if (named == references.size()) {
        ofPartitions.add(condition);
      }
    }

    /** Attributes by the names of the relation's columns, whatever the query called them. */
    private static List named(List filters, LogicalRelation relation) {
      Seq normalized =
          DataSourceStrategy$.MODULE$.normalizeExprs(IndexedFileIndex.asSeq(filters), relation.output());
      return IndexedFileIndex.asList(normalized);
    }

    private static boolean isAmong(StructType schema, String name) {
      for (int i = 0; i < schema.length(); i++) {
        if (schema.fields()[i].name().equalsIgnoreCase(name)) {
          return true;
        }
      }
      return false;
    }
  }
}
