package hudi_index;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.io.JsonStringEncoder;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.zone.ZoneRulesProvider;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.internal.config.ConfigEntry;
import org.apache.spark.package$;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.TimeZoneAwareExpression;
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.UserDefinedType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Enumeration;
import scala.Option;
import scala.Product;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/**
 * A Catalyst expression as plain values, whole: what can't be told whole is opaque.
 *
 * <pre>
 *   {"column": ["a", "b"], "type": T}              field b of column a
 *   {"literal": value, "type": T}                  the internal value: micros, days, unscaled digits, bits; a list
 *   {"class": C, "type": T, "args": [...]}         every constructor parameter, in order
 *   {"opaque": C}                                  a function of somebody's own, or a parameter of no known kind
 * </pre>
 *
 * A parameter is a node, a list, null, a boolean, a number or a text; a type is {"dataType": T}, a time zone that the
 * node goes by {"zone": id}, a setting of an enumeration {"name": n}. Left out is what has no meaning: ids of attributes, whether they may be null, the time
 * zone of a cast that does not ask for it. Functions that Spark replaces by others are replaced, calls with constants
 * only are computed, AND and OR are flat.
 *
 * <p>Spark compiles this text at run time (Janino: no generics, no lambdas).
 */
public final class CatalystTree {
  private static final ObjectMapper JSON =
      new ObjectMapper().configure(JsonGenerator.Feature.ESCAPE_NON_ASCII, true);
  private static final String PACKAGE = "org.apache.spark.sql.catalyst.expressions.";
  private static final int MOST_DEPTH = 150;
  private static final int MOST_TEXT = 2000;

  private final Map names;
  private final Map variables = new HashMap();

  private CatalystTree(Map names) {
    this.names = names;
  }

  /** What Python calls: it has no name for a class that was compiled at run time. */
  public static final class Factory {
    /** The tree of an expression over a plan's output, whose names its attributes get. */
    public String of(Expression expression, Seq output) throws Exception {
      return JSON.writeValueAsString(tree(expression, output));
    }

    /** See CatalystTree.session. */
    public String session(SparkSession spark) throws Exception {
      Map found = CatalystTree.session(spark.sessionState().conf());
      found.put("explicit", explicit(spark));
      return JSON.writeValueAsString(found);
    }

    /** Gives a session these settings, in JSON, and no others that can be changed. */
    public void configure(SparkSession spark, String wanted) throws Exception {
      Map settings = (Map) JSON.readValue(wanted, Map.class);
      Iterator before = new ArrayList(explicit(spark).keySet()).iterator();
      while (before.hasNext()) {
        String name = (String) before.next();
        if (!settings.containsKey(name) && spark.conf().isModifiable(name)) {
          spark.conf().unset(name);
        }
      }
      Iterator after = settings.entrySet().iterator();
      while (after.hasNext()) {
        Map.Entry each = (Map.Entry) after.next();
        if (spark.conf().isModifiable((String) each.getKey())) {
          spark.conf().set((String) each.getKey(), (String) each.getValue());
        }
      }
    }

    private static Map explicit(SparkSession spark) {
      return (Map) JavaConverters.mapAsJavaMapConverter(spark.conf().getAll()).asJava();
    }
  }

  /** The tree of an expression; its attributes by the names in a plan's output, or by their own if that is null. */
  public static Object tree(Expression expression, Seq output) {
    Map names = null;
    if (output != null) {
      names = new HashMap();
      Iterator attributes = asList(output).iterator();
      while (attributes.hasNext()) {
        AttributeReference attribute = (AttributeReference) attributes.next();
        names.put(Long.valueOf(attribute.exprId().id()), attribute.name());
      }
    }
    return new CatalystTree(names).node(replaced(expression), 0);
  }

  /** An expression for people to read, which is all that it is good for. */
  public static String text(Expression expression) {
    String text;
    try {
      text = expression.sql();
    } catch (Exception error) {
      text = expression.toString();
    }
    return text.length() > MOST_TEXT ? text.substring(0, MOST_TEXT) + "…" : text;
  }

  /** What gives expressions their meaning beside themselves: settings that are not Spark's defaults, zone data. */
  public static Map session(SQLConf conf) {
    Map settings = new TreeMap();
    Iterator set = ((Map) JavaConverters.mapAsJavaMapConverter(conf.getAllConfs()).asJava()).entrySet().iterator();
    while (set.hasNext()) {
      Map.Entry each = (Map.Entry) set.next();
      ConfigEntry entry = SQLConf$.MODULE$.getConfigEntry((String) each.getKey());
      // What Spark has not declared itself, no expression of Spark's reads.
      if (entry != null && !entry.defaultValueString().equals(each.getValue())) {
        settings.put(each.getKey(), each.getValue());
      }
    }
    Map found = new LinkedHashMap();
    found.put("time_zone", conf.sessionLocalTimeZone());
    found.put("zone_data", ZoneRulesProvider.getVersions("Europe/Berlin").lastEntry().getKey());
    found.put("spark", package$.MODULE$.SPARK_VERSION());
    found.put("settings", settings);
    return found;
  }

  private static Expression replaced(Expression expression) {
    if (expression instanceof RuntimeReplaceable) {
      return replaced(((RuntimeReplaceable) expression).replacement());
    }
    List children = new ArrayList();
    boolean isChanged = false;
    Iterator items = asList(expression.children()).iterator();
    while (items.hasNext()) {
      Expression child = (Expression) items.next();
      Expression other = replaced(child);
      isChanged = isChanged || other != child;
      children.add(other);
    }
    return isChanged ? (Expression) expression.withNewChildren(asSeq(children)) : expression;
  }

  private Object node(Expression expression, int depth) {
    if (expression instanceof UserDefinedExpression || depth > MOST_DEPTH) {
      return opaque(expression);
    }
    if (expression instanceof Literal) {
      return literal(((Literal) expression).value(), expression.dataType(), expression);
    }
    if (isConstant(expression)) {
      try {
        return literal(expression.eval(InternalRow.empty()), expression.dataType(), expression);
      } catch (Exception error) {
        // Left as it is: only Spark may say what is wrong with it.
      }
    }
    List path = path(expression);
    if (path != null) {
      Map found = new LinkedHashMap();
      found.put("column", path);
      found.put("type", type(expression.dataType()));
      return found;
    }
    if (expression instanceof NamedLambdaVariable) {
      return variable((NamedLambdaVariable) expression);
    }
    return call(expression, depth);
  }

  private Object call(Expression expression, int depth) {
    if (!expression.deterministic() || expression instanceof AttributeReference) {
      return opaque(expression);
    }
    List arguments;
    if (expression instanceof And || expression instanceof Or) {
      arguments = operands(expression, depth);
    } else if (expression instanceof InSet) {
      arguments = inSet((InSet) expression, depth);
    } else {
      arguments = new ArrayList();
      scala.collection.Iterator parameters = ((Product) expression).productIterator();
      while (parameters.hasNext()) {
        Object parameter = parameters.next();
        arguments.add(isZone(expression, parameter) ? zone(expression) : value(parameter, depth));
      }
    }
    if (arguments == null || arguments.contains(UNKNOWN)) {
      return opaque(expression);
    }
    Map found = new LinkedHashMap();
    found.put("class", name(expression));
    found.put("type", type(expression.dataType()));
    found.put("args", arguments);
    return found;
  }

  private static final Object UNKNOWN = new Object();

  private Object value(Object parameter, int depth) {
    if (parameter == null || parameter instanceof Boolean || parameter instanceof String) {
      return parameter;
    }
    if (parameter instanceof Integer || parameter instanceof Long || parameter instanceof Short) {
      return parameter;
    }
    if (parameter instanceof Character) {
      return parameter.toString();
    }
    if (parameter instanceof UTF8String) {
      return internal(parameter, null);
    }
    if (parameter instanceof Expression) {
      return node((Expression) parameter, depth + 1);
    }
    if (parameter instanceof Option) {
      return ((Option) parameter).isDefined() ? value(((Option) parameter).get(), depth) : null;
    }
    if (parameter instanceof DataType) {
      return tagged("dataType", type((DataType) parameter));
    }
    if (parameter instanceof AbstractDataType) {
      return tagged("dataType", parameter.getClass().getName());
    }
    if (parameter instanceof Enumeration.Value) {
      return tagged("name", parameter.toString());
    }
    if (parameter instanceof Class) {
      return tagged("java", ((Class) parameter).getName());
    }
    if (parameter instanceof Seq) {
      return values(asList((Seq) parameter).iterator(), depth);
    }
    if (parameter instanceof scala.collection.Map) {
      Map sorted = new TreeMap((Map) JavaConverters.mapAsJavaMapConverter((scala.collection.Map) parameter).asJava());
      List found = new ArrayList();
      Iterator entries = sorted.entrySet().iterator();
      while (entries.hasNext()) {
        Map.Entry entry = (Map.Entry) entries.next();
        found.add(values(Arrays.asList(new Object[] {entry.getKey(), entry.getValue()}).iterator(), depth));
      }
      return found.contains(UNKNOWN) ? UNKNOWN : found;
    }
    if (parameter.getClass().getName().startsWith("scala.Tuple")) {
      List parts = new ArrayList();
      scala.collection.Iterator items = ((Product) parameter).productIterator();
      while (items.hasNext()) {
        parts.add(items.next());
      }
      return values(parts.iterator(), depth);
    }
    return UNKNOWN;
  }

  private Object values(Iterator parameters, int depth) {
    List found = new ArrayList();
    while (parameters.hasNext()) {
      found.add(value(parameters.next(), depth));
    }
    return found.contains(UNKNOWN) ? UNKNOWN : found;
  }

  /** What AND or OR joins, however it is nested. */
  private List operands(Expression expression, int depth) {
    List found = new ArrayList();
    java.util.ArrayDeque rest = new java.util.ArrayDeque();
    rest.push(expression);
    while (!rest.isEmpty()) {
      Expression each = (Expression) rest.pop();
      if (each.getClass() == expression.getClass()) {
        rest.push(each.children().apply(1));
        rest.push(each.children().apply(0));
      } else {
        found.add(node(each, depth + 1));
      }
    }
    return found;
  }

  private List inSet(InSet expression, int depth) {
    DataType kind = expression.child().dataType();
    // Sorted: a set has no order, and equal ones must be equal as texts.
    Map literals = new TreeMap();
    Iterator items = asList(expression.hset().toSeq()).iterator();
    while (items.hasNext()) {
      Map found = (Map) literal(items.next(), kind, expression);
      if (found.containsKey("opaque")) {
        return null;
      }
      literals.put(String.valueOf(found.get("literal")), found);
    }
    List arguments = new ArrayList();
    arguments.add(node(expression.child(), depth + 1));
    arguments.add(new ArrayList(literals.values()));
    return arguments;
  }

  private Object variable(NamedLambdaVariable variable) {
    Long id = Long.valueOf(variable.exprId().id());
    if (!variables.containsKey(id)) {
      variables.put(id, Integer.valueOf(variables.size()));
    }
    Map found = tagged("variable", variables.get(id));
    found.put("type", type(variable.dataType()));
    return found;
  }

  /** The names that lead to a column or to a field inside of one; null for anything else. */
  private List path(Expression expression) {
    if (expression instanceof AttributeReference) {
      AttributeReference attribute = (AttributeReference) expression;
      Object name = names == null ? attribute.name() : names.get(Long.valueOf(attribute.exprId().id()));
      if (name == null || attribute.metadata().contains("__file_source_metadata_col")) {
        return null;
      }
      List found = new ArrayList();
      found.add(name);
      return found;
    }
    if (!(expression instanceof GetStructField)) {
      return null;
    }
    GetStructField field = (GetStructField) expression;
    List found = path(field.child());
    if (found != null) {
      found.add(((StructType) field.child().dataType()).fields()[field.ordinal()].name());
    }
    return found;
  }

  private static boolean isConstant(Expression expression) {
    return expression.foldable() && expression.deterministic() && hasLiteralLeaves(expression);
  }

  /** Not so the current time, which is foldable too. */
  private static boolean hasLiteralLeaves(Expression expression) {
    if (expression instanceof UserDefinedExpression) {
      return false;
    }
    List children = asList(expression.children());
    if (children.isEmpty()) {
      return expression instanceof Literal;
    }
    for (int i = 0; i < children.size(); i++) {
      if (!hasLiteralLeaves((Expression) children.get(i))) {
        return false;
      }
    }
    return true;
  }

  private static Object literal(Object value, DataType kind, Expression of) {
    Object found = value == null ? null : internal(value, kind);
    if (found == UNKNOWN) {
      return opaque(of);
    }
    Map node = tagged("literal", found);
    node.put("type", type(kind));
    return node;
  }

  private static Object internal(Object value, DataType kind) {
    if (value instanceof Boolean || value instanceof Byte || value instanceof Short) {
      return value;
    }
    if (value instanceof Integer || value instanceof Long) {
      return value;
    }
    if (value instanceof Float) {
      return Integer.valueOf(Float.floatToRawIntBits(((Float) value).floatValue()));
    }
    if (value instanceof Double) {
      return Long.valueOf(Double.doubleToRawLongBits(((Double) value).doubleValue()));
    }
    if (value instanceof UTF8String) {
      String text = value.toString();
      // What is no UTF-8 would become another text.
      return UTF8String.fromString(text).equals(value) ? (Object) text : UNKNOWN;
    }
    if (value instanceof Decimal && kind instanceof DecimalType) {
      java.math.BigDecimal number = ((Decimal) value).toJavaBigDecimal();
      try {
        return number.setScale(((DecimalType) kind).scale()).unscaledValue().toString();
      } catch (ArithmeticException error) {
        return UNKNOWN;
      }
    }
    if (value instanceof ArrayData && kind instanceof ArrayType) {
      ArrayData elements = (ArrayData) value;
      DataType type = ((ArrayType) kind).elementType();
      List found = new ArrayList();
      for (int i = 0; i < elements.numElements(); i++) {
        found.add(elements.isNullAt(i) ? null : internal(elements.get(i, type), type));
      }
      return found.contains(UNKNOWN) ? UNKNOWN : found;
    }
    if (value instanceof byte[] && kind instanceof BinaryType) {
      return Base64.getEncoder().encodeToString((byte[]) value);
    }
    return UNKNOWN;
  }

  private static boolean isZone(Expression expression, Object parameter) {
    return expression instanceof TimeZoneAwareExpression
        && parameter instanceof Option
        && ((Option) parameter).isDefined()
        && parameter == ((TimeZoneAwareExpression) expression).timeZoneId();
  }

  private static Object zone(Expression expression) {
    if (expression instanceof Cast) {
      Cast cast = (Cast) expression;
      if (!Cast$.MODULE$.needsTimeZone(cast.child().dataType(), cast.dataType())) {
        return null;
      }
    }
    return tagged("zone", ((TimeZoneAwareExpression) expression).timeZoneId().get());
  }

  /** The text of a type, names of fields in quotes. Whether something in it may be null is not said. */
  private static String type(DataType kind) {
    if (kind instanceof ArrayType) {
      return "array<" + type(((ArrayType) kind).elementType()) + ">";
    }
    if (kind instanceof MapType) {
      return "map<" + type(((MapType) kind).keyType()) + "," + type(((MapType) kind).valueType()) + ">";
    }
    if (!(kind instanceof StructType)) {
      return kind instanceof UserDefinedType ? kind.json() : kind.simpleString();
    }
    StringBuilder text = new StringBuilder("struct<");
    StructField[] fields = ((StructType) kind).fields();
    for (int i = 0; i < fields.length; i++) {
      String name = new String(JsonStringEncoder.getInstance().quoteAsString(fields[i].name()));
      text.append(i == 0 ? "" : ",").append('"').append(name).append("\":").append(type(fields[i].dataType()));
    }
    return text.append(">").toString();
  }

  private static Object opaque(Expression expression) {
    return tagged("opaque", expression.getClass().getName());
  }

  private static String name(Expression expression) {
    String name = expression.getClass().getName();
    return name.startsWith(PACKAGE) ? name.substring(PACKAGE.length()) : name;
  }

  private static Map tagged(String tag, Object value) {
    Map found = new LinkedHashMap();
    found.put(tag, value);
    return found;
  }

  private static List asList(Seq items) {
    return (List) JavaConverters.seqAsJavaListConverter(items).asJava();
  }

  private static Seq asSeq(List items) {
    return ((scala.collection.mutable.Buffer) JavaConverters.asScalaBufferConverter(items).asScala()).toSeq();
  }
}
