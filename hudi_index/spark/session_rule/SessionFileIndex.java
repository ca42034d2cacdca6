package hudi_index;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.math.BigInteger;
import java.nio.channels.ClosedByInterruptException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.hadoop.fs.Path;
import org.apache.hudi.HoodieFileIndex;
import org.apache.spark.SparkException;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.collection.Seq;

/**
 * Hudi's file index of one relation in one plan, with file slices left out that the indexes refute.
 *
 * <p>It follows Hudi: which partitions a filter means, and which slices are there, is what Hudi says at that moment.
 * A slice is left out only if a plan that was made for that very listing refutes it. Whatever fails here leaves the
 * scan as Hudi would list it, and never fails the query.
 *
 * <p>The filters of a scan are known when the query is optimized, and it is planned then: so Spark knows how little it
 * will read when it chooses joins, and its pages show what was pruned. Spark asks once more when it runs the scan; the
 * same question about the same slices has the same answer.
 *
 * <p>Spark compiles this text at run time (Janino: no generics, no lambdas).
 */
public final class SessionFileIndex implements FileIndex {
  private static final Logger LOG = LoggerFactory.getLogger("hudi_index.SessionFileIndex");
  private static final ObjectMapper JSON =
      new ObjectMapper().configure(JsonGenerator.Feature.ESCAPE_NON_ASCII, true);
  private static final int ATTEMPTS = 3;
  private static final Set TOLD = Collections.synchronizedSet(new HashSet());

  private final HoodieFileIndex hudi;
  private final Function planner;
  private final boolean skipsNatively;
  private final Map facts;
  private final Plan ahead;
  private long size = -1;

  /** `facts` go along with every question: which table, at which instant, with which options. */
  public SessionFileIndex(HoodieFileIndex hudi, Function planner, boolean skipsNatively, Map facts) {
    this(hudi, planner, skipsNatively, facts, null);
  }

  private SessionFileIndex(HoodieFileIndex hudi, Function planner, boolean skipsNatively, Map facts, Plan ahead) {
    this.hudi = hudi;
    this.planner = planner;
    this.skipsNatively = skipsNatively;
    this.facts = facts;
    this.ahead = ahead;
  }

  /** The same, planned for the filters that stand over the relation in a query; this one if it is already. */
  public SessionFileIndex plannedFor(List partitionFilters, List dataFilters) throws Exception {
    Question question = new Question(partitionFilters, dataFilters);
    if (ahead != null && ahead.question.equals(question.key)) {
      return this;
    }
    Plan plan = plan(question, IndexedFileIndex.asSeq(partitionFilters));
    return new SessionFileIndex(hudi, planner, skipsNatively, facts, plan);
  }

  /** The number of the plan that was made ahead, null if there is none. */
  public Object number() {
    return ahead == null ? null : ahead.number;
  }

  public String table() {
    return (String) facts.get("table");
  }

  public HoodieFileIndex hudi() {
    return hudi;
  }

  @Override
  public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
    if (!dataFilters.isEmpty()) {
      try {
        List ofPartitions = IndexedFileIndex.asList(partitionFilters);
        Plan plan = plan(new Question(ofPartitions, IndexedFileIndex.asList(dataFilters)), partitionFilters);
        return plan.chosen(skipsNatively ? candidates(partitionFilters, dataFilters) : null);
      } catch (Throwable error) {
        leave(table(), error);
      }
    }
    Seq none = IndexedFileIndex.asSeq(new ArrayList());
    synchronized (hudi) {
      return hudi.listFiles(partitionFilters, skipsNatively ? dataFilters : none);
    }
  }

  /**
   * Notes why a query is left as it is, each reason once. Thrown again is what a JVM can't go on after, and what comes
   * of somebody who cancels the query.
   */
  public static void leave(String what, Throwable error) {
    boolean isFatal = error instanceof VirtualMachineError && !(error instanceof StackOverflowError);
    if (isFatal || isCancelled(error)) {
      Platform.throwException(error);
    }
    String reason = what + ": " + error.getClass().getName();
    if (TOLD.size() < 1000 && TOLD.add(reason)) {
      LOG.warn("hudi_index leaves queries as they are over " + what, error);
    }
  }

  private static boolean isCancelled(Throwable error) {
    int depth = 0;
    for (Throwable cause = error; cause != null && depth < 20; cause = cause.getCause()) {
      depth++;
      String said = String.valueOf(cause.getMessage());
      if (cause instanceof InterruptedException
          || cause instanceof ClosedByInterruptException
          || (cause instanceof SparkException && said.contains("cancelled"))) {
        return true;
      }
    }
    return false;
  }

  private Plan plan(Question question, Seq partitionFilters) throws Exception {
    IndexedFileIndex.Listing listing = list(partitionFilters);
    String digest = digest(listing);
    if (ahead != null && ahead.question.equals(question.key) && ahead.digest.equals(digest)) {
      return new Plan(ahead, listing);
    }
    Map request = IndexedFileIndex.request(question.filters, null);
    request.putAll(facts);
    request.put("digest", digest);
    request.put("instant", instant());
    return new Plan(question.key, digest, listing, IndexedFileIndex.answered(planner, request, listing));
  }

  private IndexedFileIndex.Listing list(Seq partitionFilters) {
    for (int attempt = 1; ; attempt++) {
      try {
        // Not safe to use from two threads, by its own account; threads share it through the catalog's cache.
        synchronized (hudi) {
          return IndexedFileIndex.Listing.of(hudi, partitionFilters);
        }
      } catch (IllegalStateException error) {
        // Somebody refreshed it between two looks.
        if (attempt == ATTEMPTS) {
          throw error;
        }
      }
    }
  }

  /** The newest commit that Hudi lists by, null if it does not say. */
  private String instant() {
    org.apache.hudi.common.util.Option latest = hudi.getLatestCompletedInstant();
    return latest.isPresent()
        ? ((org.apache.hudi.common.table.timeline.HoodieInstant) latest.get()).requestedTime()
        : null;
  }

  private static String digest(IndexedFileIndex.Listing listing) throws Exception {
    byte[] hash = MessageDigest.getInstance("SHA-256").digest(JSON.writeValueAsBytes(listing.described()));
    return new BigInteger(1, hash).toString(16);
  }

  /** What Hudi's own skipping leaves. */
  private Set candidates(Seq partitionFilters, Seq dataFilters) {
    Seq directories;
    synchronized (hudi) {
      directories = hudi.listFiles(partitionFilters, dataFilters);
    }
    Set found = new HashSet();
    Iterator items = IndexedFileIndex.asList(directories).iterator();
    while (items.hasNext()) {
      Iterator files = IndexedFileIndex.asList(((PartitionDirectory) items.next()).files()).iterator();
      while (files.hasNext()) {
        found.add(((FileStatusWithMetadata) files.next()).getPath().toString());
      }
    }
    return found;
  }

  /** What is asked: the data filters, and what tells this question from others. */
  private static final class Question {
    final List filters = new ArrayList();
    final String key;

    Question(List partitionFilters, List dataFilters) throws Exception {
      List ofPartitions = new ArrayList();
      addAll(ofPartitions, partitionFilters);
      addAll(filters, dataFilters);
      List told = new ArrayList();
      told.add(treesOf(ofPartitions));
      told.add(treesOf(filters));
      Map meaning = IndexedFileIndex.request(new ArrayList(), null);
      told.add(meaning);
      key = JSON.writeValueAsString(told);
    }

    private static void addAll(List found, List expressions) {
      Iterator items = expressions.iterator();
      while (items.hasNext()) {
        found.add(IndexedFileIndex.described((Expression) items.next(), null));
      }
    }

    private static List treesOf(List described) {
      List found = new ArrayList();
      Iterator items = described.iterator();
      while (items.hasNext()) {
        found.add(((Map) items.next()).get("tree"));
      }
      return found;
    }
  }

  /** One question about one listing, answered. */
  private static final class Plan {
    final String question;
    final String digest;
    final IndexedFileIndex.Listing listing;
    final String keep;
    final Object number;
    final String by;

    Plan(String question, String digest, IndexedFileIndex.Listing listing, Map answer) {
      this.question = question;
      this.digest = digest;
      this.listing = listing;
      this.keep = (String) answer.get("keep");
      this.number = answer.get("plan");
      this.by = (String) answer.get("by");
    }

    Plan(Plan other, IndexedFileIndex.Listing listing) {
      this.question = other.question;
      this.digest = other.digest;
      this.listing = listing;
      this.keep = other.keep;
      this.number = other.number;
      this.by = other.by;
    }

    Seq chosen(Set candidates) {
      List found = new ArrayList();
      for (int i = 0; i < listing.size(); i++) {
        boolean isKept = keep == null || keep.charAt(i) == '1';
        if (isKept && (candidates == null || candidates.contains(listing.pathOf(i)))) {
          found.add(listing.directories[i]);
        }
      }
      return IndexedFileIndex.asSeq(found);
    }

    String summary() {
      if (keep == null) {
        return "reads all of " + listing.size() + " file slices, not planned";
      }
      return IndexedFileIndex.counted(keep) + (by == null || by.isEmpty() ? "" : " by " + by);
    }
  }

  /** A table's path whose text also says what a plan came to: Spark's pages show the text of these paths. */
  private static final class TellingPath extends Path {
    private final String told;

    TellingPath(Path path, String told) {
      super(path.toUri());
      this.told = told;
    }

    /** What was pruned comes first: Spark shows the first hundred characters. */
    public String toString() {
      return "(" + told + ") " + super.toString();
    }
  }

  @Override
  public Seq rootPaths() {
    Seq paths = hudi.rootPaths();
    if (ahead == null) {
      return paths;
    }
    List found = new ArrayList();
    Iterator items = IndexedFileIndex.asList(paths).iterator();
    while (items.hasNext()) {
      found.add(new TellingPath((Path) items.next(), ahead.summary()));
    }
    return IndexedFileIndex.asSeq(found);
  }

  @Override
  public String[] inputFiles() {
    return hudi.inputFiles();
  }

  @Override
  public void refresh() {
    hudi.refresh();
  }

  @Override
  public synchronized long sizeInBytes() {
    if (size < 0) {
      try {
        size = ahead != null ? ahead.listing.sizeOf(ahead.keep) : list(IndexedFileIndex.asSeq(new ArrayList())).sizeOf(null);
      } catch (Throwable error) {
        leave(table(), error);
        return hudi.sizeInBytes();
      }
    }
    return size;
  }

  @Override
  public StructType partitionSchema() {
    return hudi.partitionSchema();
  }

  @Override
  public Option metadataOpsTimeNs() {
    return hudi.metadataOpsTimeNs();
  }

  /** Two of one relation are the same: Spark then reads once what a plan has twice. */
  @Override
  public boolean equals(Object other) {
    if (!(other instanceof SessionFileIndex)) {
      return false;
    }
    SessionFileIndex that = (SessionFileIndex) other;
    if (that.hudi != hudi || that.planner != planner || that.skipsNatively != skipsNatively) {
      return false;
    }
    if (ahead == null || that.ahead == null) {
      return ahead == that.ahead;
    }
    return ahead.question.equals(that.ahead.question) && ahead.digest.equals(that.ahead.digest);
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(hudi);
  }

  @Override
  public String toString() {
    return "SessionFileIndex(" + table() + (ahead == null ? "" : ", " + ahead.summary()) + ")";
  }
}
