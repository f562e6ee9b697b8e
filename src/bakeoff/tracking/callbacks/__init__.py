"""What people see of a training while it runs: callbacks for MLflow, TensorBoard, samples and the terminal."""
