// Prints which decisions Forge's AI answers for a seat without being counted: inherited methods, one per line.

import forge.ai.AiCostDecision;
import forge.game.player.PlayerController;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.TreeSet;
import java.util.Set;

public final class Inherited {
    private Inherited() {}

    public static void main(String[] words) throws Exception {
        Set<String> inherited = new TreeSet<>();
        for (Method asked : PlayerController.class.getDeclaredMethods()) {
            if (!Modifier.isAbstract(asked.getModifiers())) continue;
            Method answers = ForgeSeat.class.getMethod(asked.getName(), asked.getParameterTypes());
            if (!answers.getDeclaringClass().getName().startsWith("Forge")) inherited.add(asked.getName());
        }
        for (Method paid : AiCostDecision.class.getDeclaredMethods()) {
            if (!paid.getName().equals("visit") || paid.isBridge()) continue;
            Method answers = ForgeCosts.class.getMethod("visit", paid.getParameterTypes());
            if (!answers.getDeclaringClass().getName().startsWith("Forge")) inherited.add(paid.getParameterTypes()[0].getSimpleName());
        }
        inherited.forEach(System.out::println);
    }
}
