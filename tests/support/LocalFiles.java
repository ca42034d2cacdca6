package tests.support;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/** Hadoop's local files, with permissions set and read by Java itself. */
public final class LocalFiles extends RawLocalFileSystem {

  @Override
  public void setPermission(Path path, FsPermission permission) throws IOException {
    if (permission.getStickyBit()) {
      super.setPermission(path, permission);
      return;
    }
    String wanted =
        permission.getUserAction().SYMBOL
            + permission.getGroupAction().SYMBOL
            + permission.getOtherAction().SYMBOL;
    Files.setPosixFilePermissions(
        pathToFile(path).toPath(), PosixFilePermissions.fromString(wanted));
  }

  /** Others look permissions up when they are first asked for, by a process for each file. */
  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    FileStatus found = super.getFileStatus(path);
    PosixFileAttributes read;
    try {
      read =
          (PosixFileAttributes)
              Files.readAttributes(pathToFile(path).toPath(), PosixFileAttributes.class);
    } catch (NoSuchFileException e) {
      return found;
    }
    FsPermission permission = FsPermission.valueOf("-" + PosixFilePermissions.toString(read.permissions()));
    return new FileStatus(
        found.getLen(),
        found.isDirectory(),
        found.getReplication(),
        found.getBlockSize(),
        found.getModificationTime(),
        found.getAccessTime(),
        permission,
        read.owner().getName(),
        read.group().getName(),
        found.getPath());
  }

  /** Whoever asks Hadoop for local files from then on has these. */
  public void use(Configuration settings) throws Exception {
    LocalFileSystem files = new LocalFileSystem(this);
    files.initialize(files.getUri(), settings);
    Method put =
        FileSystem.class.getDeclaredMethod(
            "addFileSystemForTesting", java.net.URI.class, Configuration.class, FileSystem.class);
    put.setAccessible(true);
    put.invoke(null, files.getUri(), settings, files);
  }
}
