package hudi_index;

import java.lang.reflect.Field;
import java.util.Map;

import org.apache.hudi.client.transaction.ConcurrentOperation;
import org.apache.hudi.client.transaction.SimpleConcurrentFileWritesConflictResolutionStrategy;
import org.apache.hudi.common.model.WriteOperationType;
import org.apache.hudi.common.util.ReflectionUtils;

/**
 * Any write of another conflicts with ours, not only one to the same file group. Hudi asks under the table's lock,
 * about what was completed since it began to write, which is before rows are located. Another writer may have put a
 * record into a new file group that ours took for new, too.
 */
public class AnyCommitConflicts extends SimpleConcurrentFileWritesConflictResolutionStrategy {

  /** Lets Hudi find this class by its name: it keeps the classes that it has found, and looks there first. */
  public static class Registration {
    /** The name; none if this Hudi does not keep classes so, and has to go by its own rule. */
    public String run() throws IllegalAccessException {
      try {
        Field kept = ReflectionUtils.class.getDeclaredField("CLAZZ_CACHE");
        kept.setAccessible(true);
        ((Map) kept.get(null)).put(AnyCommitConflicts.class.getName(), AnyCommitConflicts.class);
        return AnyCommitConflicts.class.getName();
      } catch (NoSuchFieldException e) {
        return null;
      }
    }
  }

  public boolean hasConflict(ConcurrentOperation mine, ConcurrentOperation other) {
    return movesRecords(other) || super.hasConflict(mine, other);
  }

  /** Table services move no record: if they met a file group of ours, the rule above says so. */
  private static boolean movesRecords(ConcurrentOperation other) {
    WriteOperationType kind = other.getOperationType();
    return "COMPLETED".equals(other.getInstantActionState())
        && kind != null
        && kind != WriteOperationType.COMPACT
        && kind != WriteOperationType.LOG_COMPACT
        && kind != WriteOperationType.CLUSTER
        && kind != WriteOperationType.INDEX
        && kind != WriteOperationType.UNKNOWN;
  }
}
