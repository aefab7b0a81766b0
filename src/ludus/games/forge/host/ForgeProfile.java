// Records where the time goes with Java Flight Recorder, and names the methods that use most of it. Part of ForgeGame.java.

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.ParseException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import jdk.jfr.Configuration;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordingFile;

final class ForgeProfile implements Runnable {
    private static final long EVERY_MS = 20_000;
    private static final int HOTTEST = 10;
    private final Recording recording;
    private final Path file;

    private ForgeProfile(Recording recording, Path file) {
        this.recording = recording;
        this.file = file;
    }

    /** Record into forge-PID.jfr, written every 20 s since the process may be killed, with forge-PID.txt beside it. */
    static void start(Path folder) {
        try {
            Files.createDirectories(folder);
            Recording recording = new Recording(Configuration.getConfiguration("profile"));
            recording.start();
            Path file = folder.resolve("forge-" + ProcessHandle.current().pid() + ".jfr");
            Thread thread = new Thread(new ForgeProfile(recording, file), "profile");
            thread.setDaemon(true);
            thread.start();
        } catch (IOException | ParseException failed) {
            throw new Host.Refused("profile: cannot record into " + folder + ": " + failed);
        }
    }

    @Override
    public void run() {
        try {
            while (true) {
                Thread.sleep(EVERY_MS);
                recording.dump(file);
                Files.writeString(file.resolveSibling(file.getFileName().toString().replace(".jfr", ".txt")), hottest());
            }
        } catch (IOException | InterruptedException failed) {
            System.err.println("profile: " + failed);
        }
    }

    private String hottest() throws IOException {
        Map<String, Integer> samples = new HashMap<>(), owners = new HashMap<>();
        int total = 0;
        for (RecordedEvent event : RecordingFile.readAllEvents(file)) {
            if (!event.getEventType().getName().equals("jdk.ExecutionSample") || event.getStackTrace() == null) continue;
            List<RecordedFrame> frames = event.getStackTrace().getFrames();
            samples.merge(name(frames.get(0)), 1, Integer::sum);
            for (RecordedFrame frame : frames) {
                if (!frame.getMethod().getType().getName().startsWith("Forge")) continue;
                owners.merge(name(frame), 1, Integer::sum); // the innermost method of the host
                break;
            }
            total++;
        }
        return table("the method itself", samples, total) + table("under this method of the host", owners, total);
    }

    private static String table(String title, Map<String, Integer> counts, int total) {
        StringBuilder text = new StringBuilder("share of " + total + " samples, " + title + "\n");
        counts.entrySet().stream().sorted((one, other) -> other.getValue() - one.getValue()).limit(HOTTEST).forEach(
            each -> text.append(String.format("%5.1f%%  %s%n", 100.0 * each.getValue() / Math.max(1, total), each.getKey())));
        return text.toString();
    }

    private static String name(RecordedFrame frame) {
        return frame.getMethod().getType().getName() + "." + frame.getMethod().getName();
    }
}
