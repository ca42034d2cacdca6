package hudi_index;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.hudi.HoodieFileIndex;
import org.apache.hudi.common.model.FileSlice;
import org.apache.hudi.common.model.HoodieBaseFile;
import org.apache.hudi.common.model.HoodieLogFile;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.Tuple2;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/**
 * Hudi's file index with file slices left out that a plan made in Python has refuted.
 *
 * <p>Spark compiles this text when the first table is read (its own compiler, Janino: no generics, no lambdas).
 * Everything that takes one call per file or per expression is here; what is decided is decided in Python, from one
 * text per scan. So planning costs one call out of the JVM, however large the table is, and the filters are told, as
 * trees, in the thread that plans the query, with its session's settings.
 *
 * <p>Data filters never reach Hudi, whose own skipping loses rows. Spark does not evaluate partition filters again
 * after the scan, so they are evaluated here, on the values that Hudi gives the rows.
 */
public final class IndexedFileIndex implements FileIndex {
  private static final Logger LOG = LoggerFactory.getLogger("hudi_index.IndexedFileIndex");
  private static final ObjectMapper JSON =
      new ObjectMapper().configure(JsonGenerator.Feature.ESCAPE_NON_ASCII, true);

  private final HoodieFileIndex hudi;
  private final Function planner;
  private final boolean strict;
  private final String fixed;
  private Listing listing;
  private volatile String outcome = "not planned yet";

  /** What Python calls: it has no name for a class that was compiled at run time. */
  public static final class Factory {
    /** An index that asks `planner` at each scan. */
    public IndexedFileIndex over(HoodieFileIndex hudi, Function planner, boolean strict) {
      return new IndexedFileIndex(hudi, planner, strict);
    }
  }

  private IndexedFileIndex(HoodieFileIndex hudi, Function planner, boolean strict) {
    this.hudi = hudi;
    this.planner = planner;
    this.strict = strict;
    this.fixed = null;
  }

  private IndexedFileIndex(IndexedFileIndex other, String keep) {
    this.hudi = other.hudi;
    this.planner = null;
    this.strict = true;
    this.fixed = keep.isEmpty() ? everything(other.list().size()) : keep;
    this.listing = other.listing;
    this.outcome = counted(fixed);
  }

  /** The same files, planned once and for all: a `1` for each slice to read, nothing for all of them. */
  public IndexedFileIndex planned(String keep) {
    return new IndexedFileIndex(this, keep);
  }

  /** What a planner is asked for one condition over a plan's output, with the slices. */
  public String request(Expression condition, Seq output) throws Exception {
    List filters = new ArrayList();
    filters.add(described(condition, output));
    return JSON.writeValueAsString(request(filters, list()));
  }

  /**
   * The slices that `planned` chooses among, in its order: partition path, file id, base file, logs, and the path
   * that Spark gives the rows of the slice as theirs.
   */
  public String listing() throws Exception {
    Listing all = list();
    List rows = new ArrayList();
    for (int i = 0; i < all.size(); i++) {
      List row = named((FileSlice) all.slices[i]);
      row.add(all.pathOf(i));
      rows.add(row);
    }
    return JSON.writeValueAsString(rows);
  }

  @Override
  public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
    Listing all = list();
    String keep = fixed != null ? fixed : answer(all, partitionFilters, dataFilters);
    BasePredicate[] conditions = bound(partitionFilters);
    List found = new ArrayList();
    for (int i = 0; i < all.size(); i++) {
      boolean isKept = keep == null || keep.charAt(i) == '1';
      if (isKept && holds(conditions, ((PartitionDirectory) all.directories[i]).values())) {
        found.add(all.directories[i]);
      }
    }
    return asSeq(found);
  }

  private String answer(Listing all, Seq partitionFilters, Seq dataFilters) {
    if (partitionFilters.isEmpty() && dataFilters.isEmpty()) {
      outcome = "read " + all.size() + " of " + all.size() + " file slices, nothing asked";
      return null;
    }
    try {
      List filters = new ArrayList();
      addAll(filters, partitionFilters);
      addAll(filters, dataFilters);
      String keep = (String) answered(planner, request(filters, null), all).get("keep");
      outcome = keep == null ? "planning failed: everything is read" : counted(keep);
      return keep;
    } catch (Exception error) {
      outcome = "planning failed: everything is read";
      if (strict) {
        throw new IllegalStateException("hudi_index can't plan this scan of " + hudi.getBasePath() + ":\n"
            + error.getMessage(), error);
      }
      LOG.warn("hudi_index can't plan this scan of " + hudi.getBasePath() + ": everything is read", error);
      return null;
    }
  }

  /** What a planner says to a question about some slices; told of them only if it asks for that. */
  public static Map answered(Function planner, Map request, Listing listing) throws Exception {
    Map answer = asked(planner, request);
    if (answer.containsKey("slices_wanted")) {
      request.put("slices", listing.described());
      answer = asked(planner, request);
    }
    if (answer.containsKey("error")) {
      throw new IllegalStateException((String) answer.get("error"));
    }
    String keep = (String) answer.get("keep");
    if (keep != null && keep.length() != listing.size()) {
      throw new IllegalStateException("a plan of " + keep.length() + " slices for " + listing.size());
    }
    return answer;
  }

  private static Map asked(Function planner, Map request) throws Exception {
    return (Map) JSON.readValue((String) planner.apply(JSON.writeValueAsString(request)), Map.class);
  }

  /** What a planner is asked: the filters, what gives them their meaning, and the slices if they are given. */
  public static Map request(List filters, Listing listing) {
    Map request = new LinkedHashMap();
    request.put("session", CatalystTree.session(SQLConf.get()));
    request.put("calendar", calendar());
    request.put("filters", filters);
    if (listing != null) {
      request.put("slices", listing.described());
    }
    return request;
  }

  /** The settings by which Spark takes dates and timestamps of files for those of another calendar, or zone. */
  private static Map calendar() {
    String[] names = {
      "spark.sql.parquet.datetimeRebaseModeInRead",
      "spark.sql.parquet.int96RebaseModeInRead",
      "spark.sql.avro.datetimeRebaseModeInRead",
      "spark.sql.parquet.int96TimestampConversion"
    };
    Map found = new LinkedHashMap();
    for (int i = 0; i < names.length; i++) {
      found.put(names[i], SQLConf.get().getConfString(names[i]));
    }
    return found;
  }

  private static void addAll(List filters, Seq expressions) {
    Iterator items = asList(expressions).iterator();
    while (items.hasNext()) {
      // Spark has given the attributes the names of the relation's columns.
      filters.add(described((Expression) items.next(), null));
    }
  }

  /** An expression as a planner takes it; its attributes by the names in an output, or by their own if that is null. */
  public static Map described(Expression expression, Seq output) {
    Map found = new LinkedHashMap();
    found.put("text", CatalystTree.text(expression));
    found.put("tree", CatalystTree.tree(expression, output));
    return found;
  }

  /** A base file's path in the table; partition path, file id, base file and logs where there are logs. */
  private static Object described(FileSlice slice) {
    String base = baseFileName(slice);
    if (base != null && !slice.getLogFiles().iterator().hasNext()) {
      return slice.getPartitionPath().isEmpty() ? base : slice.getPartitionPath() + "/" + base;
    }
    return named(slice);
  }

  private static List named(FileSlice slice) {
    List logs = new ArrayList();
    Iterator files = slice.getLogFiles().iterator();
    while (files.hasNext()) {
      HoodieLogFile file = (HoodieLogFile) files.next();
      List log = new ArrayList();
      log.add(file.getFileName());
      log.add(Long.valueOf(file.getFileSize()));
      log.add(Long.valueOf(file.getPathInfo() == null ? -1L : file.getPathInfo().getModificationTime()));
      logs.add(log);
    }
    List found = new ArrayList();
    found.add(slice.getPartitionPath());
    found.add(slice.getFileId());
    found.add(baseFileName(slice));
    found.add(logs);
    return found;
  }

  private static String baseFileName(FileSlice slice) {
    return slice.getBaseFile().isPresent() ? ((HoodieBaseFile) slice.getBaseFile().get()).getFileName() : null;
  }

  private synchronized Listing list() {
    if (listing == null) {
      listing = Listing.of(hudi, asSeq(new ArrayList()));
    }
    return listing;
  }

  /** Hudi's own listing, each slice beside the directory that makes Spark read it. */
  public static final class Listing {
    public final Object[] directories;
    public final Object[] slices;
    private List described;

    private Listing(Object[] directories, Object[] slices) {
      this.directories = directories;
      this.slices = slices;
    }

    /** What Hudi lists now of the partitions that it takes some filters to mean. */
    public static Listing of(HoodieFileIndex hudi, Seq partitionFilters) {
      Seq none = asSeq(new ArrayList());
      Object[] listed = asList(hudi.listFiles(partitionFilters, none)).toArray();
      List found = new ArrayList();
      Iterator partitions = asList(hudi.filterFileSlices(none, partitionFilters, false)).iterator();
      while (partitions.hasNext()) {
        Seq ofPartition = (Seq) ((Tuple2) partitions.next())._2();
        Iterator items = asList(ofPartition).iterator();
        while (items.hasNext()) {
          FileSlice slice = (FileSlice) items.next();
          if (!slice.isEmpty()) {
            found.add(slice);
          }
        }
      }
      if (listed.length != found.size()) {
        throw new IllegalStateException(
            "Hudi lists " + listed.length + " scans for " + found.size() + " file slices of " + hudi.getBasePath());
      }
      for (int i = 0; i < listed.length; i++) {
        verify((PartitionDirectory) listed[i], (FileSlice) found.get(i));
      }
      return new Listing(listed, found.toArray());
    }

    public int size() {
      return slices.length;
    }

    /** The bytes of the slices that a plan keeps, of all if it is null. */
    public long sizeOf(String keep) {
      long size = 0;
      for (int i = 0; i < slices.length; i++) {
        if (keep == null || keep.charAt(i) == '1') {
          size += ((FileSlice) slices[i]).getTotalFileSize();
        }
      }
      return size;
    }

    /** What Spark calls the file that a slice's rows come from. */
    public String pathOf(int position) {
      return fileOf((PartitionDirectory) directories[position]).getPath().toString();
    }

    /** The slices by name, as a planner takes them. */
    public synchronized List described() {
      if (described == null) {
        described = new ArrayList();
        for (int i = 0; i < slices.length; i++) {
          described.add(IndexedFileIndex.described((FileSlice) slices[i]));
        }
      }
      return described;
    }
  }

  private static void verify(PartitionDirectory directory, FileSlice slice) {
    FileStatusWithMetadata file = fileOf(directory);
    String name = file == null ? "" : file.getPath().getName();
    String base = baseFileName(slice);
    boolean isSame = base != null ? base.equals(name) : name.contains(slice.getFileId());
    if (!isSame) {
      throw new IllegalStateException(
          "Hudi lists " + directory.files() + " where its file slices have " + slice);
    }
  }

  /** The one file that a directory makes Spark read; null if it is not one. */
  private static FileStatusWithMetadata fileOf(PartitionDirectory directory) {
    List files = asList(directory.files());
    return files.size() == 1 ? (FileStatusWithMetadata) files.get(0) : null;
  }

  private BasePredicate[] bound(Seq partitionFilters) {
    List filters = asList(partitionFilters);
    BasePredicate[] found = new BasePredicate[filters.size()];
    for (int i = 0; i < found.length; i++) {
      Expression filter = (Expression) filters.get(i);
      found[i] = Predicate$.MODULE$.create(filter, asSeq(partitionAttributes(filter)));
    }
    return found;
  }

  /** The partition columns by place, where the filter names one by the filter's own attribute. */
  private List partitionAttributes(Expression filter) {
    StructType schema = hudi.partitionSchema();
    Seq plain = DataTypeUtils.toAttributes(schema);
    List found = new ArrayList(asList(plain));
    Iterator used = asList(filter.references().toSeq()).iterator();
    while (used.hasNext()) {
      Attribute attribute = (Attribute) used.next();
      int place = -1;
      for (int i = 0; i < schema.length(); i++) {
        if (schema.fields()[i].name().equalsIgnoreCase(attribute.name())) {
          place = i;
        }
      }
      if (place < 0) {
        throw new IllegalStateException("partition filter on " + attribute + ", which is no partition column");
      }
      found.set(place, attribute);
    }
    return found;
  }

  private static boolean holds(BasePredicate[] conditions, InternalRow values) {
    for (int i = 0; i < conditions.length; i++) {
      if (!conditions[i].eval(values)) {
        return false;
      }
    }
    return true;
  }

  private static String everything(int count) {
    StringBuilder keep = new StringBuilder();
    for (int i = 0; i < count; i++) {
      keep.append('1');
    }
    return keep.toString();
  }

  /** What a plan comes to, for people. */
  public static String counted(String keep) {
    int kept = 0;
    for (int i = 0; i < keep.length(); i++) {
      kept += keep.charAt(i) == '1' ? 1 : 0;
    }
    return "read " + kept + " of " + keep.length() + " file slices";
  }

  public static List asList(Seq items) {
    return (List) JavaConverters.seqAsJavaListConverter(items).asJava();
  }

  public static Seq asSeq(List items) {
    return ((scala.collection.mutable.Buffer) JavaConverters.asScalaBufferConverter(items).asScala()).toSeq();
  }

  @Override
  public Seq rootPaths() {
    return hudi.rootPaths();
  }

  @Override
  public String[] inputFiles() {
    return hudi.inputFiles();
  }

  /**
   * Nothing: what is read stays what it was when the table was opened. Hudi's reader of log files keeps the instant
   * that it was made with, so after a refresh of the listing it would show new base files beside old log records.
   */
  @Override
  public void refresh() {}

  @Override
  public long sizeInBytes() {
    return list().sizeOf(fixed);
  }

  @Override
  public StructType partitionSchema() {
    return hudi.partitionSchema();
  }

  @Override
  public Option metadataOpsTimeNs() {
    return hudi.metadataOpsTimeNs();
  }

  @Override
  public String toString() {
    return "IndexedFileIndex(" + hudi.getBasePath() + ", " + outcome + ")";
  }
}
