package hudi_index;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.BiFunction;
import java.util.regex.Pattern;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.connector.ExternalCommandRunner;
import org.apache.spark.sql.execution.command.ExternalCommandExecutor;
import org.apache.spark.sql.internal.SessionState;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.runtime.AbstractFunction2;

/**
 * A session's parser that takes statements about indexes for us, and gives all else to the parser that was there.
 *
 * <p>A text is ours if it begins as such a statement and Python says that its table is one of Hudi's. It becomes a
 * command, which runs once, when Spark runs it. Sessions that are made later get the parser by their extensions; one
 * that runs already has made its own, which is exchanged. It can't be taken out again, and does nothing while nobody
 * runs statements, or in a session whose setting says so.
 *
 * <p>A proxy: whatever other methods the parsers of another Spark have are given on as well.
 *
 * <p>Spark compiles this text at run time (Janino: no generics, no lambdas).
 */
public final class SessionParser implements InvocationHandler {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String SETTING = "spark.hudi_index.statements";
  private static final String GAP = "(?:\\s++|--[^\\n]*+\\n|/\\*.*?\\*/)";
  private static final Pattern STATEMENT = Pattern.compile(
      GAP + "*+(?:(?:CREATE(?:" + GAP + "++FUNCTION)?|DROP|REFRESH|REBUILD)" + GAP + "++INDEX|SHOW" + GAP
          + "++INDEXES)\\b",
      Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

  private final ParserInterface theirs;
  private final SparkSession session;
  private final Statements statements;

  private SessionParser(ParserInterface theirs, SparkSession session, Statements statements) {
    this.theirs = theirs;
    this.session = session;
    this.statements = statements;
  }

  /** What Python calls: it has no name for a class that was compiled at run time. */
  public static final class Factory {
    private static final Map STATEMENTS = Collections.synchronizedMap(new WeakHashMap());

    /** Who runs the statements of all sessions that share a session's extensions, null if nobody was named yet. */
    public Statements of(SparkSession session) {
      return (Statements) STATEMENTS.get(session.extensions());
    }

    /** Has statements of a session, and of those that will share its extensions, run by somebody. */
    public void put(SparkSession session, BiFunction runner) throws Exception {
      SparkSessionExtensions extensions = session.extensions();
      Statements found;
      synchronized (STATEMENTS) {
        found = (Statements) STATEMENTS.get(extensions);
        if (found == null) {
          found = new Statements();
          extensions.injectParser(new Builder(found));
          STATEMENTS.put(extensions, found);
        }
      }
      found.runner = runner;
      exchange(session, found);
    }

    private static void exchange(SparkSession session, Statements statements) throws Exception {
      SessionState state = session.sessionState();
      synchronized (state) {
        ParserInterface parser = state.sqlParser();
        boolean isOurs =
            Proxy.isProxyClass(parser.getClass()) && Proxy.getInvocationHandler(parser) instanceof SessionParser;
        if (!isOurs) {
          Field field = SessionState.class.getDeclaredField("sqlParser");
          field.setAccessible(true);
          field.set(state, over(parser, session, statements));
        }
      }
    }
  }

  /** Who runs the statements of some sessions. */
  public static final class Statements {
    private volatile BiFunction runner;

    public void stop() {
      runner = null;
    }
  }

  private static ParserInterface over(ParserInterface theirs, SparkSession session, Statements statements) {
    Class[] interfaces = {ParserInterface.class};
    return (ParserInterface) Proxy.newProxyInstance(
        ParserInterface.class.getClassLoader(), interfaces, new SessionParser(theirs, session, statements));
  }

  /** Puts our parser over whichever a new session would have. */
  private static final class Builder extends AbstractFunction2 {
    private final Statements statements;

    Builder(Statements statements) {
      this.statements = statements;
    }

    public Object apply(Object session, Object parser) {
      return over((ParserInterface) parser, (SparkSession) session, statements);
    }
  }

  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    BiFunction runner = statements.runner;
    if (runner != null && method.getName().equals("parsePlan") && isOurs(runner, (String) arguments[0])) {
      return new ExternalCommandExecutor(
          new Runner(runner, session), (String) arguments[0], scala.collection.immutable.Map$.MODULE$.empty());
    }
    try {
      return method.invoke(theirs, arguments);
    } catch (InvocationTargetException error) {
      throw error.getCause();
    }
  }

  private boolean isOurs(BiFunction runner, String text) throws Exception {
    if (text == null
        || !STATEMENT.matcher(text).lookingAt()
        || !session.sessionState().conf().getConfString(SETTING, "true").equalsIgnoreCase("true")) {
      return false;
    }
    return !ask(runner, session, "parse", text).isEmpty();
  }

  /** The lines of an answer; none to a text that is not ours. */
  private static List ask(BiFunction runner, SparkSession session, String verb, String text) throws Exception {
    String[] request = {verb, text};
    String said = (String) runner.apply(session, JSON.writeValueAsString(request));
    Map answer = (Map) JSON.readValue(said, Map.class);
    if (answer.get("error") != null) {
      throw new IllegalArgumentException((String) answer.get("error"));
    }
    return (List) answer.get("lines");
  }

  /** Runs one statement. */
  private static final class Runner implements ExternalCommandRunner {
    private final BiFunction runner;
    private final SparkSession session;

    Runner(BiFunction runner, SparkSession session) {
      this.runner = runner;
      this.session = session;
    }

    public String[] executeCommand(String command, CaseInsensitiveStringMap options) {
      try {
        return (String[]) ask(runner, session, "run", command).toArray(new String[0]);
      } catch (RuntimeException error) {
        throw error;
      } catch (Exception error) {
        throw new IllegalStateException("can't run " + command, error);
      }
    }

    public String toString() {
      return "hudi_index";
    }
  }
}
