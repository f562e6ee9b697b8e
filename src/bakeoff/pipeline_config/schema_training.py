"""Messages of that API about learning: losses, suppression, optimizers, schedules, evaluation, input readers."""

TABLE = """
message PostProcessing
  1 batch_non_max_suppression BatchNonMaxSuppression
  2 score_converter PostProcessing.ScoreConverter default=IDENTITY
  3 logit_scale float default=1
  4 calibration_config CalibrationConfig
message BatchNonMaxSuppression
  1 score_threshold float default=0
  2 iou_threshold float default=0.6
  3 max_detections_per_class int32 default=100
  5 max_total_detections int32 default=100
  6 use_static_shapes bool default=false
  7 use_class_agnostic_nms bool default=false
  8 max_classes_per_detection int32 default=1
  9 soft_nms_sigma float default=0
  10 use_partitioned_nms bool default=false
  11 use_combined_nms bool default=false
  12 change_coordinate_frame bool default=true
  13 use_hard_nms bool default=false
  14 use_cpu_nms bool default=false
enum PostProcessing.ScoreConverter IDENTITY=0 SIGMOID=1 SOFTMAX=2
message Loss
  1 localization_loss LocalizationLoss
  2 classification_loss ClassificationLoss
  3 hard_example_miner HardExampleMiner
  4 classification_weight float default=1
  5 localization_weight float default=1
  6 random_example_sampler RandomExampleSampler
  7 equalization_loss Loss.EqualizationLoss
  18 expected_loss_weights Loss.ExpectedLossWeights default=NONE
  19 min_num_negative_samples float default=0
  20 desired_negative_sampling_ratio float default=3
message LocalizationLoss
  1 weighted_l2 WeightedL2LocalizationLoss oneof=localization_loss
  2 weighted_smooth_l1 WeightedSmoothL1LocalizationLoss oneof=localization_loss
  3 weighted_iou WeightedIOULocalizationLoss oneof=localization_loss
  4 l1_localization_loss L1LocalizationLoss oneof=localization_loss
  5 weighted_giou WeightedGIOULocalizationLoss oneof=localization_loss
message WeightedL2LocalizationLoss
  1 anchorwise_output bool default=false
message WeightedSmoothL1LocalizationLoss
  1 anchorwise_output bool default=false
  2 delta float default=1
message WeightedIOULocalizationLoss
message L1LocalizationLoss
message WeightedGIOULocalizationLoss
message ClassificationLoss
  1 weighted_sigmoid WeightedSigmoidClassificationLoss oneof=classification_loss
  2 weighted_softmax WeightedSoftmaxClassificationLoss oneof=classification_loss
  5 weighted_logits_softmax WeightedSoftmaxClassificationAgainstLogitsLoss oneof=classification_loss
  3 bootstrapped_sigmoid BootstrappedSigmoidClassificationLoss oneof=classification_loss
  4 weighted_sigmoid_focal SigmoidFocalClassificationLoss oneof=classification_loss
  6 penalty_reduced_logistic_focal_loss PenaltyReducedLogisticFocalLoss oneof=classification_loss
  7 weighted_dice_classification_loss WeightedDiceClassificationLoss oneof=classification_loss
message WeightedSigmoidClassificationLoss
  1 anchorwise_output bool default=false
message WeightedSoftmaxClassificationLoss
  1 anchorwise_output bool default=false
  2 logit_scale float default=1
message WeightedSoftmaxClassificationAgainstLogitsLoss
  1 anchorwise_output bool default=false
  2 logit_scale float default=1
message BootstrappedSigmoidClassificationLoss
  1 alpha float
  2 hard_bootstrap bool default=false
  3 anchorwise_output bool default=false
message SigmoidFocalClassificationLoss
  1 anchorwise_output bool default=false
  2 gamma float default=2
  3 alpha float
message PenaltyReducedLogisticFocalLoss
  1 alpha float
  2 beta float
message WeightedDiceClassificationLoss
  1 squared_normalization bool default=false
  2 is_prediction_probability bool default=false
message HardExampleMiner
  1 num_hard_examples int32 default=64
  2 iou_threshold float default=0.7
  3 loss_type HardExampleMiner.LossType default=BOTH
  4 max_negatives_per_positive int32 default=0
  5 min_negatives_per_image int32 default=0
enum HardExampleMiner.LossType BOTH=0 CLASSIFICATION=1 LOCALIZATION=2
message RandomExampleSampler
  1 positive_sample_fraction float default=0.01
message Loss.EqualizationLoss
  1 weight float default=0
  2 exclude_prefixes string repeated
enum Loss.ExpectedLossWeights NONE=0 EXPECTED_SAMPLING=1 REWEIGHTING_UNMATCHED_ANCHORS=2
message TrainConfig
  1 batch_size uint32 default=32
  2 data_augmentation_options PreprocessingStep repeated
  3 sync_replicas bool default=false
  4 keep_checkpoint_every_n_hours float default=10000
  5 optimizer Optimizer
  6 gradient_clipping_by_norm float default=0
  7 fine_tune_checkpoint string
  22 fine_tune_checkpoint_type string
  28 fine_tune_checkpoint_version CheckpointVersion default=V1
  8 from_detection_checkpoint bool default=false deprecated
  19 load_all_detection_checkpoint_vars bool default=false
  30 run_fine_tune_checkpoint_dummy_computation bool default=true
  9 num_steps uint32 default=0
  10 startup_delay_steps float default=15
  11 bias_grad_multiplier float default=0
  25 update_trainable_variables string repeated
  12 freeze_variables string repeated
  13 replicas_to_aggregate int32 default=1
  14 batch_queue_capacity int32 default=150 deprecated
  15 num_batch_queue_threads int32 default=8 deprecated
  16 prefetch_queue_capacity int32 default=5 deprecated
  17 merge_multiple_label_boxes bool default=false
  24 use_multiclass_scores bool default=false
  18 add_regularization_loss bool default=true
  20 max_number_of_boxes int32 default=100 deprecated
  21 unpad_groundtruth_tensors bool default=true
  23 retain_original_images bool default=false
  26 use_bfloat16 bool default=false
  27 summarize_gradients bool default=false
message Optimizer
  1 rms_prop_optimizer RMSPropOptimizer oneof=optimizer
  2 momentum_optimizer MomentumOptimizer oneof=optimizer
  3 adam_optimizer AdamOptimizer oneof=optimizer
  4 use_moving_average bool default=true
  5 moving_average_decay float default=0.9999
message RMSPropOptimizer
  1 learning_rate LearningRate
  2 momentum_optimizer_value float default=0.9
  3 decay float default=0.9
  4 epsilon float default=1
message LearningRate
  1 constant_learning_rate ConstantLearningRate oneof=learning_rate
  2 exponential_decay_learning_rate ExponentialDecayLearningRate oneof=learning_rate
  3 manual_step_learning_rate ManualStepLearningRate oneof=learning_rate
  4 cosine_decay_learning_rate CosineDecayLearningRate oneof=learning_rate
message ConstantLearningRate
  1 learning_rate float default=0.002
message ExponentialDecayLearningRate
  1 initial_learning_rate float default=0.002
  2 decay_steps uint32 default=4000000
  3 decay_factor float default=0.95
  4 staircase bool default=true
  5 burnin_learning_rate float default=0
  6 burnin_steps uint32 default=0
  7 min_learning_rate float default=0
message ManualStepLearningRate
  1 initial_learning_rate float default=0.002
  2 schedule ManualStepLearningRate.LearningRateSchedule repeated
  3 warmup bool default=false
message ManualStepLearningRate.LearningRateSchedule
  1 step uint32
  2 learning_rate float default=0.002
message CosineDecayLearningRate
  1 learning_rate_base float default=0.002
  2 total_steps uint32 default=4000000
  3 warmup_learning_rate float default=0.0002
  4 warmup_steps uint32 default=10000
  5 hold_base_rate_steps uint32 default=0
message MomentumOptimizer
  1 learning_rate LearningRate
  2 momentum_optimizer_value float default=0.9
message AdamOptimizer
  1 learning_rate LearningRate
  2 epsilon float default=1e-08
enum CheckpointVersion UNKNOWN=0 V1=1 V2=2
message EvalConfig
  25 batch_size uint32 default=1
  1 num_visualizations uint32 default=10
  2 num_examples uint32 default=5000 deprecated
  3 eval_interval_secs uint32 default=300
  4 max_evals uint32 default=0 deprecated
  5 save_graph bool default=false
  6 visualization_export_dir string
  7 eval_master string
  8 metrics_set string repeated
  31 parameterized_metric ParameterizedMetric repeated
  9 export_path string
  10 ignore_groundtruth bool default=false
  11 use_moving_averages bool default=false
  12 eval_instance_masks bool default=false
  13 min_score_threshold float default=0.5
  14 max_num_boxes_to_visualize int32 default=20
  15 skip_scores bool default=false
  16 skip_labels bool default=false
  17 visualize_groundtruth_boxes bool default=false
  18 groundtruth_box_visualization_color string default=black
  19 keep_image_id_for_visualization_export bool default=false
  23 retain_original_images bool default=true
  24 include_metrics_per_category bool default=false
  35 all_metrics_per_category bool default=false
  34 super_categories EvalConfig.SuperCategoriesEntry repeated
  26 recall_lower_bound float default=0
  27 recall_upper_bound float default=1
  28 retain_original_image_additional_channels bool default=false
  29 force_no_resize bool default=false
  30 use_dummy_loss_in_eval bool default=false
  32 keypoint_edge KeypointEdge repeated
  33 skip_predictions_for_unlabeled_class bool default=false
  36 image_classes_field_map_empty_to_ones bool default=true
message ParameterizedMetric
  1 coco_keypoint_metrics CocoKeypointMetrics oneof=parameterized_metric
message CocoKeypointMetrics
  1 class_label string
  2 keypoint_label_to_sigmas CocoKeypointMetrics.KeypointLabelToSigmasEntry repeated
message CocoKeypointMetrics.KeypointLabelToSigmasEntry
  1 key string
  2 value float
message EvalConfig.SuperCategoriesEntry
  1 key string
  2 value string
message KeypointEdge
  1 start int32
  2 end int32
message InputReader
  23 name string
  1 label_map_path string
  2 shuffle bool default=true
  11 shuffle_buffer_size uint32 default=2048
  12 filenames_shuffle_buffer_size uint32 default=100
  5 num_epochs uint32 default=0
  22 sample_1_of_n_examples uint32 default=1
  6 num_readers uint32 default=64
  19 num_parallel_batches uint32 default=8
  20 num_prefetch_batches int32 default=2
  3 queue_capacity uint32 default=2000 deprecated
  4 min_after_dequeue uint32 default=1000 deprecated
  15 read_block_length uint32 default=32
  13 prefetch_size uint32 default=512 deprecated
  14 num_parallel_map_calls uint32 default=64 deprecated
  35 drop_remainder bool default=true
  18 num_additional_channels int32 default=0
  16 num_keypoints uint32 default=0
  26 keypoint_type_weight float repeated
  21 max_number_of_boxes int32 default=100
  24 load_multiclass_scores bool default=false
  25 load_context_features bool default=false
  36 load_context_image_ids bool default=false
  7 load_instance_masks bool default=false
  10 mask_type InstanceMaskType default=NUMERICAL_MASKS
  31 load_dense_pose bool default=false
  33 load_track_id bool default=false
  37 load_keypoint_depth_features bool default=false
  17 use_display_name bool default=false
  27 include_source_id bool default=false
  30 input_type InputType default=TF_EXAMPLE
  32 frame_index int32 default=-1
  38 use_keypoint_label_map bool default=false
  8 tf_record_input_reader TFRecordInputReader oneof=input_reader
  9 external_input_reader ExternalInputReader oneof=input_reader
  34 sample_from_datasets_weights float repeated
  29 expand_labels_hierarchy bool default=false
enum InstanceMaskType DEFAULT=0 NUMERICAL_MASKS=1 PNG_MASKS=2
enum InputType INPUT_DEFAULT=0 TF_EXAMPLE=1 TF_SEQUENCE_EXAMPLE=2
message TFRecordInputReader
  1 input_path string repeated
message ExternalInputReader
"""
